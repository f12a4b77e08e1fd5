/** Returns true if `path` is `folder` or lies in it, by name alone. Both must be absolute and normalized. */
export function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith("/") ? folder : `${folder}/`);
}
