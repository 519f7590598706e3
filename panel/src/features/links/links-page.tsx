import { Trans, useLingui } from '@lingui/react/macro';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api } from '../../shared/api/request.ts';
import { useFormat } from '../../shared/format/use-format.ts';
import { useMay } from '../../shared/session/session.ts';
import { Card } from '../../shared/ui/card.tsx';
import { CodeBlock } from '../../shared/ui/code-block.tsx';
import { TextField } from '../../shared/ui/field.tsx';
import { Form } from '../../shared/ui/form.tsx';
import { Page } from '../../shared/ui/page.tsx';
import { Banner, Empty, Loading, ProblemState } from '../../shared/ui/states.tsx';
import { Table } from '../../shared/ui/table.tsx';

interface MadeLink {
  code: string;
  target: string;
  /** null: the installation has no public address for short links. */
  url: string | null;
  clicks: number;
  last_click_at: string | null;
  created_at: string;
}

/** Short links that members made, and how often each was clicked. */
export function LinksPage() {
  const { t } = useLingui();
  const may = useMay();
  return (
    <Page
      title={t`پیوندهای کوتاه`}
      lead={t`هر نشانی یک پیوند کوتاه دارد که هرگز به جای دیگری نمی‌رود.`}
    >
      {may('campaign.write') ? <NewLink /> : null}
      <LinksCard />
    </Page>
  );
}

function NewLink() {
  const { t } = useLingui();
  const queryClient = useQueryClient();
  const [target, setTarget] = useState('');
  const create = useMutation({
    mutationFn: () =>
      api<Pick<MadeLink, 'code' | 'url'>>('/v1/links', {
        method: 'POST',
        body: { target: target.trim() },
      }),
    onSuccess: async () => {
      setTarget('');
      await queryClient.invalidateQueries({ queryKey: ['links'] });
    },
  });
  return (
    <Card title={<Trans>پیوند تازه</Trans>}>
      <Form
        action={<Trans>کوتاه کردن</Trans>}
        isBusy={create.isPending}
        error={create.error}
        onSubmit={() => create.mutate()}
      >
        <TextField
          label={<Trans>نشانی بلند</Trans>}
          hint={<Trans>با https:// آغاز می‌شود و فاصله ندارد.</Trans>}
          type="url"
          dir="ltr"
          required
          value={target}
          onChange={(event) => setTarget(event.target.value)}
        />
      </Form>
      {create.data ? (
        <CodeBlock label={t`پیوند کوتاه`} text={create.data.url ?? create.data.code} />
      ) : null}
    </Card>
  );
}

function LinksCard() {
  const { t } = useLingui();
  const { count, dateTime } = useFormat();
  const { data, error, refetch } = useQuery({
    queryKey: ['links'],
    queryFn: ({ signal }) => api<{ links: MadeLink[] }>('/v1/links', { signal }),
  });
  return (
    <Card title={<Trans>پیوندها</Trans>}>
      {error && data ? (
        <Banner tone="warning">
          <Trans>ارتباط با سرور قطع است؛ شمار کلیک‌ها شاید تازه نباشد.</Trans>
        </Banner>
      ) : null}
      {error && !data ? (
        <ProblemState error={error} retry={() => void refetch()} />
      ) : !data ? (
        <Loading />
      ) : data.links.length === 0 ? (
        <Empty title={<Trans>هنوز پیوندی نیست</Trans>}>
          <Trans>نشانی بلند را بالا بنویسید تا پیوند کوتاه آن ساخته شود.</Trans>
        </Empty>
      ) : (
        <Table
          label={t`پیوندها`}
          rows={data.links}
          rowKey={({ code }) => code}
          columns={[
            {
              key: 'url',
              header: <Trans>پیوند کوتاه</Trans>,
              isRowHeader: true,
              cell: ({ code, url }) => <code dir="ltr">{url ?? code}</code>,
            },
            {
              key: 'target',
              header: <Trans>می‌رود به</Trans>,
              cell: ({ target }) => <code dir="ltr">{target}</code>,
            },
            {
              key: 'clicks',
              header: <Trans>کلیک‌ها</Trans>,
              isNumber: true,
              cell: ({ clicks }) => count(clicks),
            },
            {
              key: 'last',
              header: <Trans>آخرین کلیک</Trans>,
              cell: ({ last_click_at }) =>
                last_click_at === null ? '–' : dateTime(Date.parse(last_click_at)),
            },
            {
              key: 'at',
              header: <Trans>ساخته شد</Trans>,
              cell: ({ created_at }) => dateTime(Date.parse(created_at)),
            },
          ]}
        />
      )}
    </Card>
  );
}
