/** The `features` of GET /v1/capabilities (management 2.3). */
export interface Features {
  segments: boolean;
  campaigns: boolean;
  campaign_recurrence: boolean;
  analytics: boolean;
  transactional: boolean;
  ingest: boolean;
  async_exports: boolean;
  campaign_approval: boolean;
  export: boolean;
  import: boolean;
  journeys: boolean;
}

/** What an installation may switch. */
export interface FeatureChoices {
  segments: boolean;
  analytics: boolean;
  ingest: boolean;
  asyncExports: boolean;
  campaigns: boolean;
  campaignRecurrence: boolean;
  campaignApproval: boolean;
  transactional: boolean;
}

/** Features as announced: what this build lacks is off, whatever the settings say. */
export function decideFeatures(choices: FeatureChoices): Features {
  return {
    segments: choices.segments,
    campaigns: choices.campaigns,
    campaign_recurrence: choices.campaigns && choices.campaignRecurrence,
    analytics: choices.analytics,
    transactional: choices.transactional,
    ingest: choices.ingest,
    async_exports: choices.asyncExports,
    campaign_approval: choices.campaigns && choices.campaignApproval,
    export: false,
    import: choices.ingest,
    journeys: false,
  };
}

/** The `limits` of GET /v1/capabilities. */
export const LIMITS = {
  max_page_size: 100,
  max_preview_rows: 100,
  max_batch_size: 500,
  estimate_sample: 100,
  query_timeout_sec: 30,
};
