/** A panel: what it shows, by legend. */
export interface Panel {
  title: string;
  description?: string;
  /** The last values instead of their course. */
  isStat?: true;
  /** Of Grafana. */
  unit?: string;
  /** PromQL by legend. */
  queries: Readonly<Record<string, string>>;
}

/** The panels of the dashboard Ravand; `$service` is one of the services of the topology. */
export const OVERVIEW: readonly Panel[] = [
  {
    title: 'Reconciliation: gap (must be 0)',
    description: 'Published events that passed both hops and are neither stored nor dead.',
    isStat: true,
    queries: {
      gap: 'ravand_books_gap',
      'in flight': 'ravand_books_in_flight',
    },
  },
  {
    title: 'Reconciliation: counts',
    description:
      'All accounts, all time: received = rejected + duplicate + published + spooled; published = stored + dead + in flight.',
    isStat: true,
    unit: 'short',
    queries: {
      '{{count}}': 'ravand_books_events',
    },
  },
  {
    title: 'Age of the newest fully stored time',
    description: 'All events appended to the log before this time are stored or dead.',
    isStat: true,
    unit: 's',
    queries: {
      age: 'time() - ravand_settled_until_seconds',
    },
  },
  {
    title: 'Gateway: events by outcome',
    unit: 'ops',
    queries: {
      '{{outcome}}': 'sum by (outcome) (rate(ravand_gateway_events_total[5m]))',
    },
  },
  {
    title: 'Gateway: requests by status',
    unit: 'reqps',
    queries: {
      '{{status}}': 'sum by (status) (rate(ravand_gateway_requests_total[5m]))',
    },
  },
  {
    title: 'Gateway: Kafka publish latency',
    unit: 's',
    queries: {
      p50: 'histogram_quantile(0.5, sum by (le) (rate(ravand_gateway_publish_seconds_bucket[5m])))',
      p99: 'histogram_quantile(0.99, sum by (le) (rate(ravand_gateway_publish_seconds_bucket[5m])))',
    },
  },
  {
    title: 'Gateway: spool',
    unit: 'bytes',
    queries: {
      '{{instance}} used': 'ravand_gateway_spool_bytes',
      '{{instance}} limit': 'ravand_gateway_spool_max_bytes',
    },
  },
  {
    title: 'Gateway: publisher phase',
    description:
      'direct: records go to Kafka. Any other phase: records go to the spool, or follow it.',
    unit: 'short',
    queries: {
      '{{phase}}': 'ravand_gateway_publisher_phase',
    },
  },
  {
    title: 'Claims available',
    description:
      '0 at the gateway: Redis is unavailable, and events are accepted without claims. 0 at the normaliser: it waits for the claims of the dedupe window.',
    unit: 'short',
    queries: {
      'gateway: Redis available': 'ravand_gateway_claims_available',
      'normaliser: claims loaded': 'ravand_normaliser_claims_filled',
    },
  },
  {
    title: 'Consumers: lag in records',
    unit: 'short',
    queries: {
      '{{job}} {{topic}}': 'sum by (job, topic) (ravand_consumer_lag_records{job=~"$service"})',
    },
  },
  {
    title: 'Consumers: lag in seconds',
    unit: 's',
    queries: {
      '{{job}} {{topic}}': 'max by (job, topic) (ravand_consumer_lag_seconds{job=~"$service"})',
    },
  },
  {
    title: 'Consumers: records processed',
    unit: 'ops',
    queries: {
      '{{job}} {{topic}}':
        'sum by (job, topic) (rate(ravand_consumer_records_total{job=~"$service"}[5m]))',
    },
  },
  {
    title: 'Consumers: batch duration, p99',
    description: 'Time to process one batch, until its effects are durable.',
    unit: 's',
    queries: {
      '{{job}}':
        'histogram_quantile(0.99, sum by (le, job) (rate(ravand_consumer_take_seconds_bucket{job=~"$service"}[5m])))',
    },
  },
  {
    title: 'Consumers: batch size in records, p99',
    unit: 'short',
    queries: {
      '{{job}}':
        'histogram_quantile(0.99, sum by (le, job) (rate(ravand_consumer_take_records_bucket{job=~"$service"}[5m])))',
    },
  },
  {
    title: 'Consumers: bytes processed',
    unit: 'Bps',
    queries: {
      '{{job}}': 'sum by (job) (rate(ravand_consumer_bytes_total{job=~"$service"}[5m]))',
    },
  },
  {
    title: 'Normaliser: events by outcome',
    unit: 'ops',
    queries: {
      '{{outcome}}': 'sum by (outcome) (rate(ravand_normaliser_events_total[5m]))',
    },
  },
  {
    title: 'Normaliser: rows per batch, p99',
    description: 'Rows in one record of events.normalised.',
    unit: 'short',
    queries: {
      p99: 'histogram_quantile(0.99, sum by (le) (rate(ravand_normaliser_run_rows_bucket[5m])))',
    },
  },
  {
    title: 'Normaliser: bytes published',
    unit: 'Bps',
    queries: {
      bytes: 'sum(rate(ravand_normaliser_published_bytes_total[5m]))',
    },
  },
  {
    title: 'Events sink: rows stored',
    unit: 'ops',
    queries: {
      rows: 'sum(rate(ravand_sink_rows_total[5m]))',
      'batches read back': 'sum(rate(ravand_sink_settled_total[5m]))',
    },
  },
  {
    title: 'Events sink: insert latency, p99',
    unit: 's',
    queries: {
      insert: 'histogram_quantile(0.99, sum by (le) (rate(ravand_sink_insert_seconds_bucket[5m])))',
      'from append to visible':
        'histogram_quantile(0.99, sum by (le) (rate(ravand_sink_visible_seconds_bucket[5m])))',
    },
  },
  {
    title: 'Events sink: rows per insert, p99',
    unit: 'short',
    queries: {
      p99: 'histogram_quantile(0.99, sum by (le) (rate(ravand_sink_insert_rows_bucket[5m])))',
    },
  },
  {
    title: 'Dead letters',
    unit: 'short',
    queries: {
      'normaliser {{reason}}':
        'sum by (reason) (increase(ravand_normaliser_dead_letters_total[15m]))',
      sink: 'sum(increase(ravand_sink_dead_total[15m]))',
    },
  },
  {
    title: 'Dead-letter breakers',
    description: 'Paused partitions: most of their events would become dead letters.',
    unit: 'short',
    queries: {
      normaliser: 'ravand_normaliser_breaker_open',
      sink: 'ravand_sink_breaker_open',
    },
  },
  {
    title: 'Profiles: events',
    unit: 'ops',
    queries: {
      folded: 'sum(rate(ravand_profiles_events_total[5m]))',
      skipped: 'sum(rate(ravand_profiles_skipped_total[5m]))',
      misplaced: 'sum(rate(ravand_profiles_misplaced_total[5m]))',
    },
  },
  {
    title: 'Profiles: step duration, p99',
    unit: 's',
    queries: {
      '{{step}}':
        'histogram_quantile(0.99, sum by (le, step) (rate(ravand_profiles_step_seconds_bucket[5m])))',
    },
  },
  {
    title: 'Profiles: cache size',
    unit: 'bytes',
    queries: {
      bytes: 'ravand_profiles_cached_bytes',
    },
  },
  {
    title: 'Identities: aliases by outcome',
    unit: 'ops',
    queries: {
      '{{outcome}}': 'sum by (outcome) (rate(ravand_identities_aliases_total[5m]))',
    },
  },
  {
    title: 'Management host: latency by route, p99',
    unit: 's',
    queries: {
      '{{route}}':
        'histogram_quantile(0.99, sum by (le, route) (rate(ravand_management_request_seconds_bucket[5m])))',
    },
  },
  {
    title: 'Relays: attempts by result, queue',
    unit: 'short',
    queries: {
      '{{result}}': 'sum by (result) (rate(ravand_relay_attempts_total[5m]))',
      'queue {{state}}': 'ravand_relay_queue_rows',
    },
  },
  {
    title: 'Ready',
    description: '0: not ready; /readyz shows the reason.',
    unit: 'short',
    queries: {
      '{{job}}': 'ravand_ready{job=~"$service"}',
    },
  },
  {
    title: 'Restarts in 15 minutes',
    unit: 'short',
    queries: {
      '{{job}}': 'changes(ravand_process_start_time_seconds{job=~"$service"}[15m])',
    },
  },
  {
    title: 'Resident memory',
    unit: 'bytes',
    queries: {
      '{{job}}': 'ravand_process_resident_memory_bytes{job=~"$service"}',
    },
  },
  {
    title: 'CPU',
    unit: 'percentunit',
    queries: {
      '{{job}}': 'rate(ravand_process_cpu_seconds_total{job=~"$service"}[5m])',
    },
  },
  {
    title: 'Retention: days behind',
    description: 'Whole days since the last complete run; 0: today or yesterday.',
    unit: 'short',
    queries: {
      'days behind': 'ravand_retention_days_behind',
      'failed runs per hour': 'increase(ravand_retention_failures_total[1h])',
    },
  },
  {
    title: 'Retention: events deleted',
    description: 'Events past the retention of their account.',
    unit: 'short',
    queries: {
      'deleted per hour': 'increase(ravand_retention_rows_deleted_total[1h])',
    },
  },
  {
    title: 'Gateway: answer time by path, p99',
    description: 'From the last byte of a request until its answer.',
    unit: 's',
    queries: {
      '{{path}}':
        'histogram_quantile(0.99, sum by (le, path) (rate(ravand_gateway_request_seconds_bucket[5m])))',
    },
  },
  {
    title: 'Error budgets: burn rate over 1 h',
    description: '1 uses the budget of 30 days in 30 days; above 14.4 somebody is called.',
    unit: 'short',
    queries: {
      'intake, 5xx': 'ravand:intake_errors:ratio_1h / 0.001',
      'intake, slow': 'ravand:intake_slow:ratio_1h / 0.01',
      'reports, 5xx': 'ravand:report_errors:ratio_1h / 0.005',
      'reports, slow': 'ravand:report_slow:ratio_1h / 0.05',
    },
  },
  {
    title: 'Disks: free',
    description: 'Of the spools and of ClickHouse.',
    unit: 'bytes',
    queries: {
      'spool {{instance}}': 'ravand_gateway_spool_disk_free_bytes',
      'ClickHouse {{host}} {{disk}}': 'ravand_clickhouse_disk_free_bytes',
    },
  },
  {
    title: 'ClickHouse: parts',
    description:
      'Active parts of the partition that has most; inserts are slowed down above the limit.',
    unit: 'short',
    queries: {
      '{{table}}': 'ravand_clickhouse_parts',
      limit: 'ravand_clickhouse_parts_delay_above',
      '{{outcome}} inserts in 15 minutes':
        'sum by (outcome) (increase(ravand_clickhouse_held_inserts_total[15m]))',
    },
  },
  {
    title: 'Addresses: commands by kind',
    unit: 'ops',
    queries: {
      '{{kind}}': 'sum by (kind) (rate(ravand_channel_commands_total[5m]))',
    },
  },
  {
    title: 'Campaigns: runs that wait',
    description: 'Due and not started, being planned, and late ones that a person must confirm.',
    unit: 'short',
    queries: {
      '{{state}}': 'max by (state) (ravand_campaign_runs_waiting)',
      'late, s': 'max(ravand_campaign_runs_late_seconds)',
    },
  },
  {
    title: 'Campaigns: recipients planned',
    unit: 'ops',
    queries: {
      'recipients/s': 'sum(rate(ravand_planner_recipients_total[5m]))',
      'turns: {{outcome}}': 'sum by (outcome) (rate(ravand_planner_turns_total[5m]))',
    },
  },
  {
    title: 'Messages: balance, gap (must be 0)',
    description: 'Messages of campaigns by status, and by how many the balance is wrong.',
    unit: 'short',
    queries: {
      '{{status}}': 'max by (status) (ravand_campaign_messages)',
      'gap: {{scope}}': 'max by (scope) (ravand_message_balance_gap)',
    },
  },
  {
    title: 'Messages: outcomes by channel',
    description: 'With transactional ones.',
    unit: 'ops',
    queries: {
      '{{channel}} {{status}}': 'sum by (channel, status) (rate(ravand_messages_stored_total[5m]))',
    },
  },
  {
    title: 'Messages: why they were not sent',
    description: 'Reasons of failed and skipped messages.',
    unit: 'short',
    queries: {
      '{{status}}: {{reason}}':
        'sum by (status, reason) (increase(ravand_messages_stored_total{reason!=""}[15m]))',
    },
  },
  {
    title: 'Messages: what waits',
    description:
      'The longest wait of a chunk that may be sent, and of an outcome that is not published.',
    unit: 's',
    queries: {
      'chunk due': 'max(ravand_message_chunks_due_seconds)',
      outbox: 'max(ravand_message_outbox_age_seconds)',
      'results not stored (number)': 'max(ravand_transactional_unstored)',
      'held for consents (number)': 'sum(increase(ravand_dispatcher_consent_waits_total[5m]))',
    },
  },
  {
    title: 'Messages: calls of providers, p99',
    description: 'By channel and answer.',
    unit: 's',
    queries: {
      '{{channel}} {{answer}}':
        'histogram_quantile(0.99, sum by (le, channel, answer) (rate(ravand_dispatcher_call_seconds_bucket[5m])))',
    },
  },
  {
    title: 'Messages: senders by breaker',
    description: 'Open: the provider fails. Half open for long: it refuses the sender.',
    unit: 'short',
    queries: {
      '{{phase}}': 'max by (phase) (ravand_dispatcher_breakers)',
      'open calls': 'sum(ravand_dispatcher_open_calls)',
      'leased chunks': 'sum(ravand_dispatcher_leased_chunks)',
    },
  },
  {
    title: 'E-mail: bounces and complaints',
    description: 'Of sent e-mails; alerts at 5 % and 0.1 %.',
    unit: 'percentunit',
    queries: {
      'hard bounces, 6 h':
        'sum(increase(ravand_email_reports_total{kind="hard_bounce"}[6h])) / sum(increase(ravand_messages_stored_total{channel="email",status="sent"}[6h]))',
      'complaints, 24 h':
        'sum(increase(ravand_email_reports_total{kind="complaint"}[24h])) / sum(increase(ravand_messages_stored_total{channel="email",status="sent"}[24h]))',
    },
  },
];
