type Callable = { readonly definition: { readonly name: string }; readonly aliases: readonly string[] };

/** Finds a tool by its name, in either spelling. */
export function findTool<Tool extends Callable>(tools: readonly Tool[], name: string): Tool | undefined {
  return tools.find(({ aliases, definition }) => definition.name === name || aliases.includes(name));
}

type Named = { readonly name: string };

/** Sorts tools by name, so that the list is stable. */
export function byName(a: Named, b: Named): number {
  return a.name < b.name ? -1 : 1;
}
