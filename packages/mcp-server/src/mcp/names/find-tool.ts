type Callable = { readonly definition: { readonly name: string }; readonly aliases: readonly string[] };

/** Finds the tool that a call names, in either spelling. */
export function findTool<Tool extends Callable>(tools: readonly Tool[], name: string): Tool | undefined {
  return tools.find(({ aliases, definition }) => definition.name === name || aliases.includes(name));
}

type Named = { readonly name: string };

/** Puts tools into the order in which clients get them, whatever came first. */
export function byName(a: Named, b: Named): number {
  return a.name < b.name ? -1 : 1;
}
