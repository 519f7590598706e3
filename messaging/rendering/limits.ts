import type { TemplateContent } from '../templates/template.ts';

/** What one part of a message may cost to render. */
export const MAX_RENDERED_NODES = 100_000;
/** Time of a core, ms: a thread that waits for a core is not stopped. */
export const MAX_CPU_MS = 250;

/** Time of a core that rendering may take before the renderer steps in, ms. */
export interface CpuLimits {
  /** Of a job: it stops itself after about 300 ms; one that does not, hangs. */
  job: number;
  /**
   * Of expensive messages of a version, and of an account, in a window, and more for each message
   * that is rendered: beyond, its messages wait until the window is over.
   */
  version: number;
  account: number;
}
export const CPU_LIMITS: CpuLimits = { job: 1500, version: 3000, account: 6000 };

/** Characters and array elements that filters make. */
export const MAX_FILTERED = 2_000_000;
export const MAX_CAPTURED_CHARACTERS = 1_000_000;
/** Names of missing variables of one message. */
export const MAX_MISSING = 100;
export const MAX_MISSING_CHARACTERS = 256;

/** Of a template, its parts together. */
export const MAX_TAGS = 5000;
/** Of tags in tags. */
export const MAX_DEPTH = 30;

/** Maximum length of a part, UTF-16 units: of the template, and of what it becomes. */
export const MAX_CHARACTERS: Readonly<
  Record<keyof TemplateContent, { template: number; rendered: number }>
> = {
  subject: { template: 4000, rendered: 1000 },
  title: { template: 4000, rendered: 1000 },
  text: { template: 100_000, rendered: 100_000 },
  html: { template: 512 * 1024, rendered: 1_000_000 },
  url: { template: 8000, rendered: 4000 },
  /** Each value. */
  data: { template: 16_000, rendered: 16_000 },
};
