/** Returns the flag of an option, such as `--agents-dir`. */
export function toFlag(key: string): string {
  return `--${key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

/** Returns the environment variable of an option, such as `BUDGIE_AGENTS_DIR`. */
export function toVariable(key: string): string {
  return `BUDGIE_${toFlag(key).slice(2).replaceAll("-", "_").toUpperCase()}`;
}

/** Returns the name of an option in messages: its flag and its variable. */
export function formatOptionName(key: string): string {
  return `${toFlag(key)} (or ${toVariable(key)})`;
}
