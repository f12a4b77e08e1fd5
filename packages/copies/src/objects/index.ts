// The public surface of @budgie/copies/objects: every export is named here, and becomes API.
export { createObjectStore, type ObjectStore } from "./object-store.ts";
