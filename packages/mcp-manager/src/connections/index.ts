// The public surface of @budgie/mcp-manager/connections: every export is named here, and becomes API.
export { createAddressFetch } from "./address-fetch.ts";
export { connectAt } from "./connect-at.ts";
export { createServerSandboxes, type ServerSandboxes } from "./server-sandboxes.ts";
export { createUserLogins } from "./user-logins.ts";
