import { CLAIM_GROUPS } from "@budgie/claims";
import { inCarelessLab } from "../helpers/careless.ts";
import { behind, describeClaims } from "../helpers/describe-claims.ts";
import { createHostSessions, runOnHost } from "./host-sessions.ts";
import { openRawSession } from "../helpers/raw-session.ts";
import { createRewritingEngine } from "../helpers/rewriting-engine.ts";
import { showHome } from "./show-home.ts";
import { syncThroughLinks } from "./sync-through-links.ts";

describeClaims(CLAIM_GROUPS.links, {
  removals: { mounts: showHome },
  controls: {
    "no-hard-links-out": inCarelessLab(({ host }) => ({
      run: (argv, { directory = host.project } = {}) => runOnHost(argv, { directory, home: host.path }),
    })),
    "planted-home": inCarelessLab(syncThroughLinks),
    "planted-mount-points": async (claim) => {
      await using engine = await createRewritingEngine(() => Promise.resolve(), { blind: true });
      return await inCarelessLab(() => ({}), behind(engine))(claim);
    },
    "plain-files": async (claim) => {
      await using sessions = createHostSessions();
      return await inCarelessLab(() => sessions)(claim);
    },
    "pinned-workspace": inCarelessLab(() => ({ open: openRawSession })),
    "swapped-definition": inCarelessLab(() => ({ open: openRawSession })),
  },
});
