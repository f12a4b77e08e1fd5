/** Lists what ADR 30 counts in the sources of a checkout. */
export function countSources(root: string): {
  /** The object types that declare a member `directory`, in the packages through which a turn goes */
  readonly recordsWithDirectory: readonly string[];
  /** The names of callbacks there, each once */
  readonly callbacks: readonly string[];
  readonly typesNamedTurn: readonly string[];
  readonly typesNamedSession: readonly string[];
  /** The names of all functions */
  readonly functions: readonly string[];
  readonly packages: Readonly<Record<string, { readonly files: number; readonly lines: number }>>;
};
