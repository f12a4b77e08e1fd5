type Named = { readonly name: string };

/** Puts tools into the order in which clients get them, whatever came first. */
export function byName(a: Named, b: Named): number {
  return a.name < b.name ? -1 : 1;
}
