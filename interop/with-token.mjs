// Gives all requests of a program that has no option for it the bearer token, and changes nothing else of them:
// node --import ./with-token.mjs PROGRAM, with the token in MCP_TOKEN.
import { getGlobalDispatcher, setGlobalDispatcher } from "undici";

const authorization = `Bearer ${process.env.MCP_TOKEN}`;

// Node's own fetch uses this one too.
setGlobalDispatcher(
  getGlobalDispatcher().compose((dispatch) => (request, handler) => {
    const { headers = [] } = request;
    const all = Array.isArray(headers)
      ? [...headers, "authorization", authorization]
      : Object.assign({}, headers, { authorization });
    return dispatch({ ...request, headers: all }, handler);
  }),
);
