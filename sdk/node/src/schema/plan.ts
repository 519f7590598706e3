/** An event as GET /v1/schema/events lists it. */
export interface SchemaEvent {
  name: string;
  prop_keys?: string[];
}

/** What the platform itself writes: no program makes these. */
const OF_THE_PLATFORM =
  /^(identify|alias|page_viewed|screen_viewed|message_(sent|failed|withheld|opened|clicked)|onsite_\w+)$/;

/**
 * Declarations of the events that an account has: a name or property that it does not have is an
 * error where the SDKs are called. The host knows names, and no types of values.
 */
export function planOf(
  events: readonly SchemaEvent[],
  { source, isOpen }: { source: string; isOpen: boolean },
): string {
  const lines = events
    .filter(({ name }) => !OF_THE_PLATFORM.test(name))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap(({ name, prop_keys: keys = [] }) => [
      `    ${JSON.stringify(name)}: {`,
      ...keys.toSorted().map((key) => `      ${JSON.stringify(key)}?: unknown;`),
      '    };',
    ]);
  if (isOpen) lines.push('    [event: string]: Record<string, unknown>;');
  return [
    `// Written by ravand-schema from ${source}. Do not edit it: run the command again.`,
    'declare global {',
    '  interface RavandTrackingPlan {',
    ...lines,
    '  }',
    '}',
    'export {};',
    '',
  ].join('\n');
}
