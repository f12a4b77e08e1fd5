/** Whether a path is a folder or lies in it, by their names; both absolute and without dots. */
export function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith("/") ? folder : `${folder}/`);
}
