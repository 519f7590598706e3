import type { ClickHouseClient } from '@clickhouse/client';
import type { Channel } from '../../../events/channels/channel-change.ts';
import type { CampaignDefinition } from '../../../messaging/campaigns/definition.ts';
import type { Resolved, WantedRecipient } from '../../../messaging/recipients/resolved.ts';
import { resolveMany } from '../../../messaging/recipients/resolve-recipients.ts';
import { CachedTemplates } from '../../../messaging/templates/cached-templates.ts';
import type { TemplateVersion } from '../../../messaging/templates/template.ts';
import { TemplateStore } from '../../../messaging/templates/template-store.ts';
import { GroupedCalls } from '../../../platform/grouped-calls.ts';
import type { LeasedChunk } from '../store/chunk-row.ts';
import type { OpenChunkPorts } from '../worker/ports.ts';
import { callProvider, type Calling } from './call-provider.ts';
import { prepareRecipients, type ChunkFacts, type PreparePorts } from './prepare-recipients.ts';

interface RecipientsDeps extends Omit<PreparePorts, 'resolve'> {
  clickhouse: Pick<ClickHouseClient, 'query'>;
}

/**
 * Recipients of several chunks that are looked up together, 100 at most of each. Few look-ups at a
 * time: those that wait are the next one, which costs little more than one of a single chunk.
 */
const GROUP = { max: 5, concurrency: 2 };
/** Longest look-up, ms. */
const LOOK_UP_MS = 10_000;

/**
 * Gives the worker of a chunk what it needs of the chunk's recipients. Rejects when the template
 * cannot be read.
 */
export function openRecipients(deps: RecipientsDeps): OpenChunkPorts {
  const templates = new CachedTemplates(new TemplateStore(deps.database));
  const groups = new GroupedCalls<readonly WantedRecipient[], Resolved[]>({
    ...GROUP,
    run: async (wanted) => {
      const signal = AbortSignal.timeout(LOOK_UP_MS);
      const resolved = await resolveMany(deps, wanted.flat(), { signal });
      let from = 0;
      return wanted.map(({ length }) => resolved.slice(from, (from += length)));
    },
  });
  const ports: PreparePorts = { ...deps, resolve: (wanted) => groups.call(wanted) };
  return async ({ leased, sender, answered, signal }) => {
    const facts = await factsOf(leased, templates);
    const { accountId, channel, category } = facts;
    const { reports } = deps.delivery;
    const calling: Calling | undefined = sender && {
      ...{ accountId, channel, sender, reports, answered, signal, now: deps.now },
    };
    return {
      facts: {
        ...{ templateId: facts.templateId, templateVersion: facts.templateVersion, category },
      },
      prepare: (recipients) => prepareRecipients(ports, { ...facts, sender, recipients }),
      call: ({ message }) =>
        calling ? callProvider(calling, message) : Promise.resolve({ kind: 'retry' }),
    };
  };
}

async function factsOf(leased: LeasedChunk, templates: CachedTemplates): Promise<ChunkFacts> {
  const { accountId, campaignId, runId, run } = leased;
  // messaging/campaigns wrote both; a chunk is of the channel of its campaign.
  const definition = run.definition as CampaignDefinition;
  const channel = leased.channel as Channel;
  const frozen = run.frozen as { identities_revision?: number } | null;
  const { template_id: templateId, template_version: templateVersion, utm } = definition;
  const stored = await templates.version(templateId, templateVersion);
  const isOwn = stored?.accountId === accountId && stored.channel === channel;
  return {
    ...{ accountId, campaignId, runId, channel, templateId, templateVersion },
    template: isOwn ? stored : undefined,
    category: categoryOf(definition, isOwn ? stored : undefined),
    utm: utm ?? {},
    identityRevision: frozen?.identities_revision ?? 0,
    deadlineAt: run.deadlineAt ?? Number.POSITIVE_INFINITY,
  };
}

/** A template of marketing is marketing, whatever the campaign says. */
function categoryOf(
  { category }: CampaignDefinition,
  template: TemplateVersion | undefined,
): ChunkFacts['category'] {
  return template?.category === 'marketing' ? 'marketing' : category;
}
