import { config } from "zod";

// zod would compile a function for each schema, which costs more at startup than all later parsing.
config({ jitless: true });
