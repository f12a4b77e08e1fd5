// The public surface of @budgie/runner-kubernetes/keeping: every export is named here, and becomes API.
export { openKeptHomes } from "./open-kept-homes.ts";
