/**
 * statusOf (status.ts) as SQL, for the statements of workers: the status of campaigns some of whose
 * runs are in a new state, `moved` (id, campaign_id, state). A cancelled run becomes `cancelled`.
 */
export const SHOW_STATUS = `
  UPDATE campaigns c SET updated_at = clock_timestamp(), status = CASE
      WHEN now_is.sending OR now_is.waiting OR c.next_at IS NOT NULL THEN
        CASE WHEN c.status = 'paused' THEN 'paused' WHEN now_is.sending THEN 'sending' ELSE 'scheduled' END
      WHEN c.status IN ('draft', 'cancelled') THEN c.status
      ELSE coalesce(now_is.ended, (
        SELECT CASE e.state WHEN 'finished' THEN 'sent' ELSE 'failed' END FROM campaign_runs e
        WHERE e.campaign_id = c.id AND e.state IN ('finished', 'failed') ORDER BY e.finished_at DESC, e.id DESC LIMIT 1
      ), 'draft') END
  FROM (
    SELECT m.campaign_id, bool_or(m.state = 'planning' OR coalesce(other.sending, false)) AS sending, bool_or(m.state = 'confirm' OR other.runs > 0) AS waiting,
      max(CASE m.state WHEN 'finished' THEN 'sent' WHEN 'failed' THEN 'failed' END) AS ended
    FROM moved m CROSS JOIN LATERAL (
      SELECT count(*) AS runs, bool_or(o.state IN ('planning', 'sending') OR (o.state = 'scheduled' AND o.due_at <= clock_timestamp())) AS sending
      FROM campaign_runs o WHERE o.campaign_id = m.campaign_id AND NOT o.cancelled AND o.state IN ('scheduled', 'confirm', 'planning', 'sending')
        AND o.id NOT IN (SELECT id FROM moved)
    ) other
    GROUP BY m.campaign_id
  ) now_is WHERE c.id = now_is.campaign_id`;
