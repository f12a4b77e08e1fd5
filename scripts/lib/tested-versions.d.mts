/** A pinned version, with the words before it on the page that names it. */
export type TestedVersion = { readonly words: string; readonly version: string; readonly page: string };

/** Returns the pinned versions. */
export function readVersions(): readonly TestedVersion[];

/** Returns the part of a page that says what budgie is tested with. */
export function readPart(page: string): string;

/** Returns the text with the version in place of an old one behind its words, or `undefined` if they are not there. */
export function replaceVersion(text: string, to: TestedVersion, old?: string): string | undefined;
