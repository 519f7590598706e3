import Type from 'typebox';
import { audienceSchema } from '../../audiences/schema.ts';
import { campaignFields } from '../../messaging/campaigns/definition.ts';
import { recurrenceRequestSchema } from '../../messaging/campaigns/read-recurrence.ts';
import { CAMPAIGN_STATUSES } from '../../messaging/campaigns/state.ts';

const Instant = Type.String({ format: 'date-time' });
const Status = Type.Enum([...CAMPAIGN_STATUSES]);
const Count = Type.Integer();
const orNull = <Schema extends Type.TSchema>(schema: Schema) => Type.Union([schema, Type.Null()]);

const fields = campaignFields(audienceSchema);

export const CampaignDraft = Type.Object(fields, { $id: 'CampaignDraft' });
export const RecurrenceBody = Type.Object(recurrenceRequestSchema.properties, {
  $id: 'Recurrence',
});

const listed = {
  id: Type.Integer(),
  name: Type.String(),
  channel: fields.channel,
  status: Status,
  scheduled_at: orNull(Instant),
  created_at: Instant,
  updated_at: Instant,
};
export const CampaignList = Type.Object(
  { campaigns: Type.Array(Type.Object(listed)) },
  { $id: 'CampaignList' },
);

const Uplift = Type.Object({
  treated_rate: Type.Number(),
  control_rate: Type.Number(),
  difference: Type.Number(),
  low: Type.Number(),
  high: Type.Number(),
  significant: Type.Boolean(),
});
/** The balance counts messages, everything else people (docs/message-stats.md). */
export const StatsSchema = Type.Object({
  ...{ planned: Count, sent: Count, failed: Count, withheld: Count, skipped: Count },
  in_flight: Count,
  skipped_by_reason: Type.Record(Type.String(), Count),
  failed_by_reason: Type.Record(Type.String(), Count),
  ...{ opened: Count, clicked: Count, converted: Count, revenue: Type.Number() },
  uplift: orNull(Uplift),
});

const shownRecurrence = {
  ...{ rule: Type.String(), starts_at: Instant, time_zone: Type.String() },
  next: Type.Array(Instant, { maxItems: 3 }),
};
export const Campaign = Type.Object(
  {
    ...listed,
    template_id: fields.template_id,
    template_version: Type.Integer(),
    segment_id: orNull(Type.Integer()),
    audience: orNull(audienceSchema),
    control_percent: Type.Integer(),
    goal: orNull(Type.Object({ event: Type.String(), window_hours: Type.Integer() })),
    category: Type.Enum(['marketing', 'service']),
    utm: orNull(Type.Object({})),
    recurrence: orNull(Type.Object(shownRecurrence)),
    stats: StatsSchema,
  },
  { $id: 'Campaign' },
);

export const CampaignStatus = Type.Object(
  { id: Type.Integer(), status: Status },
  { $id: 'CampaignStatus' },
);
export const SentCampaign = Type.Object(
  { id: Type.Integer(), run_id: Type.Integer(), status: Status },
  { $id: 'SentCampaign' },
);
export const ArmedRecurrence = Type.Object(
  { id: Type.Integer(), ...shownRecurrence },
  { $id: 'ArmedRecurrence' },
);
