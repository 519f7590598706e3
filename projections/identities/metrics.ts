import type { Registry } from 'prom-client';
import { metricsOf } from '../../platform/metrics.ts';
import type { AliasOutcome } from './alias-fact.ts';
import type { Decision } from './decisions.ts';

export interface IdentityMetrics {
  alias(outcome: AliasOutcome): void;
  decision(kind: Decision['kind']): void;
  unreadable(): void;
}

export function identityMetrics(registry: Registry): IdentityMetrics {
  const metrics = metricsOf(registry);
  const aliases = metrics.counter(
    'ravand_identities_aliases_total',
    'Processed aliases by outcome: joined, same (already one person), refused (previous_id belongs to another person), undone, kept_apart (by an operator).',
    'outcome',
  );
  const undos = metrics.counter('ravand_identities_undos_total', 'Aliases undone by operators.');
  const decisions = metrics.counter(
    'ravand_identities_decisions_total',
    'Applied decisions of operators by kind: undo, keep_apart, rejoin.',
    'kind',
  );
  const unreadable = metrics.counter(
    'ravand_identities_unreadable_total',
    'Records that cannot be decoded; they merge nothing.',
  );
  for (const outcome of ['joined', 'same', 'refused', 'undone', 'kept_apart'] as const)
    aliases.inc({ outcome }, 0);
  return {
    alias: (outcome) => aliases.inc({ outcome }),
    decision(kind) {
      decisions.inc({ kind });
      if (kind === 'undo') undos.inc();
    },
    unreadable: () => unreadable.inc(),
  };
}
