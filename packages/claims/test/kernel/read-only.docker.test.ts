import { CLAIM_GROUPS } from "@budgie/claims";
import { inCarelessLab } from "../helpers/careless.ts";
import { describeClaims } from "../helpers/describe-claims.ts";
import { openRawSession } from "../helpers/raw-session.ts";

describeClaims(CLAIM_GROUPS["read-only"], {
  removals: {
    "hidden-agents": ({ HostConfig }) => {
      const isHiding =
        /^\/workspace\/\.(?:kiro|amazonq)(?:\/|$)|^\/home\/agent\/\.kiro\/(?:agents|hooks|settings|workflows|workspace-roots)$/;
      HostConfig.Mounts = HostConfig.Mounts?.filter(({ Target }) => !isHiding.test(Target)) ?? [];
    },
  },
  controls: {
    "no-disguised-agents": inCarelessLab(() => ({ open: openRawSession })),
    "protected-paths": inCarelessLab((lab) => ({
      run: (argv, options) => lab.run(argv, { ...options, protectedPaths: [] }),
      open: openRawSession,
    })),
  },
});
