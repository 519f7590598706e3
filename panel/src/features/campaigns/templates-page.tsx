import { Trans, useLingui } from '@lingui/react/macro';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useFormat } from '../../shared/format/use-format.ts';
import { useMay } from '../../shared/session/session.ts';
import { Button } from '../../shared/ui/button.tsx';
import { Card } from '../../shared/ui/card.tsx';
import { Dialog } from '../../shared/ui/dialog.tsx';
import { Icon } from '../../shared/ui/icon.tsx';
import { Page } from '../../shared/ui/page.tsx';
import { Empty, Loading, ProblemState } from '../../shared/ui/states.tsx';
import { Table } from '../../shared/ui/table.tsx';
import { useChannelName } from './campaign-status.tsx';
import { templatesQuery, type Template } from './queries.ts';
import { TemplateForm } from './template-form.tsx';
import { TemplatePreview } from './template-preview.tsx';
import { TestSend } from './test-send.tsx';

type Open = { kind: 'edit'; template: Template | undefined } | { kind: 'show'; template: Template };

/** Templates of messages; each change is a new version. */
export function TemplatesPage() {
  const { t } = useLingui();
  const may = useMay();
  const { data, error, refetch } = useQuery(templatesQuery);
  const [open, setOpen] = useState<Open>();
  const close = () => setOpen(undefined);
  const canWrite = may('template.write');
  const add = canWrite ? (
    <Button kind="primary" onClick={() => setOpen({ kind: 'edit', template: undefined })}>
      <Icon name="plus" />
      <Trans>قالب تازه</Trans>
    </Button>
  ) : null;
  return (
    <Page
      title={t`قالب‌ها`}
      lead={t`متن پیام‌ها، با متغیرهایی که برای هر شخص پر می‌شوند.`}
      actions={add}
    >
      <Card title={<Trans>قالب‌های حساب</Trans>}>
        {error ? (
          <ProblemState error={error} retry={() => void refetch()} />
        ) : !data ? (
          <Loading lines={8} />
        ) : data.templates.length === 0 ? (
          <Empty title={<Trans>هنوز قالبی نیست</Trans>} action={add}>
            <Trans>قالب را یک بار بنویسید و در چند کمپین به کار ببرید.</Trans>
          </Empty>
        ) : (
          <TemplateTable
            templates={data.templates}
            onShow={(template) => setOpen({ kind: 'show', template })}
            onEdit={canWrite ? (template) => setOpen({ kind: 'edit', template }) : undefined}
          />
        )}
      </Card>
      {open?.kind === 'edit' ? <TemplateForm template={open.template} onClose={close} /> : null}
      {open?.kind === 'show' ? (
        <Dialog title={<bdi>{open.template.name}</bdi>} onClose={close}>
          <TemplatePreview template={open.template} />
          {may('campaign.send') ? <TestSend template={open.template} /> : null}
        </Dialog>
      ) : null}
    </Page>
  );
}

function TemplateTable({
  templates,
  onShow,
  onEdit,
}: {
  templates: readonly Template[];
  onShow: (template: Template) => void;
  onEdit: ((template: Template) => void) | undefined;
}) {
  const { t } = useLingui();
  const { count, dateTime } = useFormat();
  const channelName = useChannelName();
  const categories: Readonly<Record<string, string>> = {
    marketing: t`بازاریابی`,
    service: t`خدماتی`,
    transactional: t`تراکنشی`,
  };
  return (
    <Table
      label={t`قالب‌ها`}
      rows={templates}
      rowKey={({ id }) => id}
      columns={[
        {
          key: 'name',
          header: <Trans>نام</Trans>,
          isRowHeader: true,
          cell: (template) => (
            <Button kind="quiet" onClick={() => onShow(template)}>
              <bdi>{template.name}</bdi>
            </Button>
          ),
        },
        {
          key: 'channel',
          header: <Trans>کانال</Trans>,
          cell: ({ channel }) => channelName(channel),
        },
        {
          key: 'category',
          header: <Trans>گونه</Trans>,
          cell: ({ category }) => categories[category] ?? category,
        },
        {
          key: 'version',
          header: <Trans>نسخه</Trans>,
          isNumber: true,
          cell: ({ version }) => count(version),
        },
        {
          key: 'at',
          header: <Trans>آخرین تغییر</Trans>,
          cell: ({ updated_at }) => dateTime(Date.parse(updated_at)),
        },
        ...(onEdit
          ? [
              {
                key: 'edit',
                header: (
                  <span className="visually-hidden">
                    <Trans>کارها</Trans>
                  </span>
                ),
                cell: (template: Template) => (
                  <Button kind="quiet" onClick={() => onEdit(template)}>
                    <Trans>ویرایش</Trans>
                  </Button>
                ),
              },
            ]
          : []),
      ]}
    />
  );
}
