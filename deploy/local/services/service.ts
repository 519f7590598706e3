import type { Address } from '../../../platform/setting-kinds.ts';

/**
 * How a process is started. The command is the part itself: no shell and no wrapper stands in
 * between.
 */
export interface Launch {
  command: string;
  args: readonly string[];
  /** Added to the environment of `up`. */
  env: Readonly<Record<string, string>>;
  /** Runs before an ordered start; can run any number of times. */
  prepare?: () => Promise<void>;
}

/** How one finds out that a part answers. */
export type Readiness =
  | { kind: 'http'; url: string }
  | { kind: 'kafka'; address: Address; tls: boolean }
  | { kind: 'postgres'; address: Address }
  | { kind: 'redis'; address: Address; tls: boolean };

export interface Service {
  name: string;
  /** What clients connect to; never with a password. */
  address: string;
  adminUrl: string | undefined;
  /** Parts and steps that must be up or done before its first start. */
  needs: readonly string[];
  /** Undefined: a server of the user's own, which is watched but neither started nor stopped. */
  launch: Launch | undefined;
  /** The setting that points to a server of the user's own. */
  setting: string | undefined;
  readiness: Readiness;
  /** How long it may take to answer at `up` and at `start PART`, ms. */
  startMs: number;
  /** How long it may take to end after SIGTERM, ms. */
  stopMs: number;
  /** The consumer group and topic whose distance is this part's lag. */
  lag: { group: string; topic: string } | undefined;
}

/**
 * Something that is done once at each `up`, before the parts that need it: topics, migrations, the
 * demo account.
 */
export interface Step {
  name: string;
  title: string;
  needs: readonly string[];
  launch: Launch;
  timeoutMs: number;
}
