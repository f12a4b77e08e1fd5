// node --import ./with-token.mjs PROGRAM: adds the bearer token in MCP_TOKEN to all requests of a program without an option for it.
import { getGlobalDispatcher, setGlobalDispatcher } from "undici";

const authorization = `Bearer ${process.env.MCP_TOKEN}`;

// Node's own fetch uses this dispatcher too.
setGlobalDispatcher(
  getGlobalDispatcher().compose((dispatch) => (request, handler) => {
    const { headers = [] } = request;
    const all = Array.isArray(headers)
      ? [...headers, "authorization", authorization]
      : Object.assign({}, headers, { authorization });
    return dispatch({ ...request, headers: all }, handler);
  }),
);
