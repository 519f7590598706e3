import { readFileSync } from 'node:fs';
import { secretFileOf, withValues } from '../../platform/settings.ts';
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

/**
 * The environment with the secrets that files contain (NAME_FILE) in the variables themselves: what
 * the supervisor starts, and decides by.
 */
export function withSecretsOfFiles(
  env: NodeJS.ProcessEnv,
  variables: readonly string[],
): NodeJS.ProcessEnv {
  const known = new Set(variables);
  const secrets = [...known].flatMap((name): [string, string][] => {
    const file = secretFileOf(name);
    const path = known.has(file) ? (env[file]?.trim() ?? '') : '';
    return path === '' ? [] : [[name, readFileSync(path, 'utf8').trim()]];
  });
  return withValues(env, Object.fromEntries(secrets));
}
