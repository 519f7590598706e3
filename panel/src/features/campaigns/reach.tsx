import { Trans } from '@lingui/react/macro';
import { useQuery } from '@tanstack/react-query';
import { api } from '../../shared/api/request.ts';
import { useFormat } from '../../shared/format/use-format.ts';
import { ProblemText } from '../../shared/ui/states.tsx';
import type { Campaign } from './queries.ts';

/** How many people the audience has now, before anything is sent. */
export function Reach({ campaign }: { campaign: Campaign }) {
  const { count } = useFormat();
  const { segment_id: segmentId, audience } = campaign;
  const { data, error } = useQuery({
    queryKey: ['reach', campaign.id, segmentId],
    staleTime: 0,
    retry: false,
    queryFn: async ({ signal }) => {
      const definition =
        segmentId === null
          ? audience
          : (await api<{ definition: unknown }>(`/v1/segments/${segmentId}`, { signal }))
              .definition;
      return await api<{ count: number }>('/v1/audiences/count', {
        ...{ method: 'POST' as const, body: definition, signal },
      });
    },
  });
  return (
    <p aria-live="polite">
      {error ? (
        <ProblemText error={error} />
      ) : data ? (
        <Trans>
          اکنون {count(data.count)} نفر در این مخاطب‌اند؛ به کسانی که نپذیرفته‌اند یا نشانی ندارند
          فرستاده نمی‌شود.
        </Trans>
      ) : (
        <Trans>در حال شمردن مخاطب…</Trans>
      )}
    </p>
  );
}
