/** The result of one check. `note`: worth knowing, and no obstacle */
export type Finding = { readonly state: "ok" | "note" | "failed"; readonly what: string; readonly text: string };
