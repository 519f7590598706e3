import { Trans, useLingui } from '@lingui/react/macro';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { api } from '../../shared/api/request.ts';
import { useMay } from '../../shared/session/session.ts';
import { Button } from '../../shared/ui/button.tsx';
import { Card } from '../../shared/ui/card.tsx';
import { ConfirmDialog } from '../../shared/ui/dialog.tsx';
import { TextField } from '../../shared/ui/field.tsx';
import { Page } from '../../shared/ui/page.tsx';
import { Banner, Loading, ProblemState, ProblemText } from '../../shared/ui/states.tsx';
import { AudienceCard } from './audience-card.tsx';
import { completeOf, readDefinition, type GroupNode } from './definition.ts';
import { GroupEditor } from './group-editor.tsx';
import { segmentQuery, type Segment } from './queries.ts';
import styles from './segments.module.css';

const newRoute = getRouteApi('/member/segments/new');
const oneRoute = getRouteApi('/member/segments/$id');

export function NewSegmentPage() {
  const { t } = useLingui();
  const { definition } = newRoute.useSearch();
  const navigate = newRoute.useNavigate();
  return (
    <Page
      title={t`سگمنت تازه`}
      lead={t`شرط‌ها را بچینید؛ شمار کسانی که در آن می‌گنجند در همان حال نشان داده می‌شود.`}
    >
      <Builder
        segment={undefined}
        definition={definition ?? { all: [] }}
        onChange={(next) => void navigate({ search: { definition: next } as never, replace: true })}
      />
    </Page>
  );
}

export function SegmentPage() {
  const { t } = useLingui();
  const { id } = oneRoute.useParams();
  const { definition } = oneRoute.useSearch();
  const navigate = oneRoute.useNavigate();
  const { data, error, refetch } = useQuery(segmentQuery(id));
  return (
    <Page title={t`سگمنت`} lead={data ? <bdi>{data.name}</bdi> : undefined}>
      {error ? (
        <ProblemState error={error} retry={() => void refetch()} />
      ) : !data ? (
        <Loading lines={8} />
      ) : (
        <Builder
          segment={data}
          definition={definition ?? readDefinition(data.definition)}
          isChanged={definition !== undefined}
          onChange={(next) =>
            void navigate({ search: { definition: next } as never, replace: true })
          }
          onSaved={() => void navigate({ search: {} as never, replace: true })}
        />
      )}
    </Page>
  );
}

interface BuilderProps {
  segment: Segment | undefined;
  definition: GroupNode;
  isChanged?: boolean;
  onChange: (definition: GroupNode) => void;
  onSaved?: () => void;
}

function Builder({ segment, definition, isChanged = false, onChange, onSaved }: BuilderProps) {
  const { t } = useLingui();
  const may = useMay();
  const navigate = useNavigate();
  const queryClient = useQueryClient();
  const [name, setName] = useState(segment?.name ?? '');
  const [isRemoving, setRemoving] = useState(false);
  const whole = completeOf(definition);
  const save = useMutation({
    mutationFn: () =>
      api<Segment>(segment ? `/v1/segments/${segment.id}` : '/v1/segments', {
        method: segment ? 'PUT' : 'POST',
        body: { name: name.trim(), definition: whole },
      }),
    onSuccess: async ({ id }) => {
      await queryClient.invalidateQueries({ queryKey: ['segments'] });
      onSaved?.();
      if (!segment) await navigate({ to: '/segments/$id', params: { id: String(id) } });
    },
  });
  const canWrite = may('segment.write');
  return (
    <div className={styles['layout']}>
      <Card title={<Trans>چه کسانی</Trans>}>
        <GroupEditor group={definition} isRoot onChange={onChange} />
      </Card>
      <div className={styles['side']}>
        <AudienceCard definition={whole} />
        {canWrite ? (
          <Card title={<Trans>نام و ذخیره</Trans>}>
            {save.isSuccess && !isChanged ? (
              <Banner tone="success">
                <Trans>ذخیره شد.</Trans>
              </Banner>
            ) : null}
            <TextField
              label={<Trans>نام سگمنت</Trans>}
              placeholder={t`مثلاً: مشتریان در حال رفتن`}
              value={name}
              maxLength={100}
              onChange={(event) => setName(event.target.value)}
            />
            {save.error ? (
              <p role="alert" className={styles['problem']}>
                <ProblemText error={save.error} />
              </p>
            ) : null}
            <div className={styles['buttons']}>
              <Button
                kind="primary"
                isBusy={save.isPending}
                disabled={name.trim() === '' || !whole}
                onClick={() => save.mutate()}
              >
                <Trans>ذخیره</Trans>
              </Button>
              {segment && may('segment.delete') ? (
                <Button kind="quiet" onClick={() => setRemoving(true)}>
                  <Trans>حذف سگمنت</Trans>
                </Button>
              ) : null}
            </div>
          </Card>
        ) : null}
      </div>
      {segment && isRemoving ? (
        <RemoveSegment segment={segment} onClose={() => setRemoving(false)} />
      ) : null}
    </div>
  );
}

function RemoveSegment({ segment, onClose }: { segment: Segment; onClose: () => void }) {
  const navigate = useNavigate();
  const queryClient = useQueryClient();
  const remove = useMutation({
    mutationFn: () => api(`/v1/segments/${segment.id}`, { method: 'DELETE' }),
    onSuccess: async () => {
      await navigate({ to: '/segments' });
      await queryClient.invalidateQueries({ queryKey: ['segments'] });
    },
  });
  return (
    <ConfirmDialog
      title={<Trans>حذف سگمنت</Trans>}
      action={<Trans>حذف</Trans>}
      name={segment.name}
      isBusy={remove.isPending}
      error={remove.error}
      onConfirm={() => remove.mutate()}
      onClose={onClose}
    >
      <Trans>
        کمپین‌هایی که این سگمنت را می‌خوانند دیگر فرستاده نمی‌شوند. این کار بازگشت ندارد.
      </Trans>
    </ConfirmDialog>
  );
}
