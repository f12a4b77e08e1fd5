import { CLAIM_GROUPS } from "@budgie/runner-docker";
import { inCarelessLab } from "./careless.ts";
import { describeClaims, OPTIONS } from "./describe-claims.ts";
import { createHostSessions, runOnHost } from "./host-sessions.ts";
import { openRawSession } from "./raw-session.ts";
import { createRewritingEngine } from "./rewriting-engine.ts";
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
      return await inCarelessLab(() => ({}), { ...OPTIONS, hostEnv: engine.hostEnv })(claim);
    },
    "plain-files": async (claim) => {
      await using sessions = createHostSessions();
      return await inCarelessLab(() => sessions)(claim);
    },
    "pinned-workspace": inCarelessLab(() => ({ open: openRawSession })),
    "swapped-definition": inCarelessLab(() => ({ open: openRawSession })),
  },
});
