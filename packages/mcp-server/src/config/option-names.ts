/** The flag of an option, such as `--agents-dir`. */
export function toFlag(key: string): string {
  return `--${key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

/** The environment variable of an option, such as `BUDGIE_AGENTS_DIR`. */
export function toVariable(key: string): string {
  return `BUDGIE_${toFlag(key).slice(2).replaceAll("-", "_").toUpperCase()}`;
}

/** How a message calls an option whose value is wrong, wherever that came from. */
export function toOptionName(key: string): string {
  return `${toFlag(key)} (or ${toVariable(key)})`;
}
