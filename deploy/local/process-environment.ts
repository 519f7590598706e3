import type { StackPlan } from '../../cli/stack/stack-plan.ts';

/**
 * The environment that every process of a stack inherits: without a setting of any service, so that
 * a secret reaches only the processes that read it. What a process reads is added per process.
 */
export function inheritedEnvironment(
  env: NodeJS.ProcessEnv,
  { settings }: Pick<StackPlan, 'settings'>,
): NodeJS.ProcessEnv {
  const known = new Set(Object.values(settings).flat());
  return Object.fromEntries(Object.entries(env).filter(([name]) => !known.has(name)));
}

/** The variables of an environment that a process reads, by name. */
export function settingsFor(
  reads: readonly string[],
  env: NodeJS.ProcessEnv,
): Record<string, string> {
  return Object.fromEntries(
    reads.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]]])),
  );
}
