import { Counter, type Registry } from 'prom-client';
import type { AliasOutcome } from './alias-fact.ts';

export interface IdentityMetrics {
  alias(outcome: AliasOutcome): void;
  undo(): void;
  unreadable(): void;
}

export function identityMetrics(registry: Registry): IdentityMetrics {
  const registers = [registry];
  const aliases = new Counter({
    name: 'ravand_identities_aliases_total',
    help: 'Processed aliases by outcome: joined, same (already one person), refused (previous_id belongs to another person), undone.',
    labelNames: ['outcome'] as const,
    registers,
  });
  const undos = new Counter({
    name: 'ravand_identities_undos_total',
    help: 'Aliases undone by operators.',
    registers,
  });
  const unreadable = new Counter({
    name: 'ravand_identities_unreadable_total',
    help: 'Records that cannot be decoded; they merge nothing.',
    registers,
  });
  for (const outcome of ['joined', 'same', 'refused', 'undone'] as const)
    aliases.inc({ outcome }, 0);
  return {
    alias: (outcome) => aliases.inc({ outcome }),
    undo: () => undos.inc(),
    unreadable: () => unreadable.inc(),
  };
}
