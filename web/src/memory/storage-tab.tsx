import { type ChangeEvent, useRef, useState } from 'react'
import type {
  ImportProgressReply,
  ImportReply,
  MemoryStatsReply,
  SyncProgressReply,
  SyncReply,
} from '../../../src/protocol/memory.ts'
import { call, callRaw, useAnswer } from '../api/call.ts'
import { Button } from '../components/controls.tsx'
import { Failure, Notice, useToasts } from '../components/feedback.tsx'
import { Dialog, SelectField } from '../components/forms.tsx'
import { Icon } from '../components/icon.tsx'
import { Rich, Section } from '../components/layout.tsx'
import { formatBytes, formatNumber } from '../strings/format.ts'
import { t } from '../strings/strings.ts'
import { withProgress } from './corrections.tsx'
import { ForgetEverything, LearningPanel, OtherNames } from './learning.tsx'
import type { Kind } from './memory-list.tsx'

/** The files and folders whose passages are memories. A new one is named on the machine itself, never over the net. */
function IndexedFolders({ onChanged }: { onChanged(): void }) {
  const roots = useAnswer('roots.list', {})
  const toasts = useToasts()
  const [progress, setProgress] = useState<SyncProgressReply>()
  const [leaving, setLeaving] = useState<string>()

  async function sync(): Promise<void> {
    setProgress({ done: 0, total: 0, path: '' })
    try {
      const { added, changed, removed } = await withProgress<SyncProgressReply, SyncReply>(
        callRaw('roots.sync', {}, { accept: 'text/event-stream' }),
        setProgress,
      )
      toasts.done(t.storage.reindexedNewChangedRemoved(added, changed, removed))
      roots.refresh()
      onChanged()
    } catch (error) {
      toasts.failed(error)
    } finally {
      setProgress(undefined)
    }
  }

  async function forget(path: string): Promise<void> {
    setLeaving(undefined)
    try {
      await call('roots.remove', { path })
      toasts.done(t.storage.removedFromIndexFiles)
      roots.refresh()
      onChanged()
    } catch (error) {
      toasts.failed(error)
    }
  }

  return (
    <Section
      title={t.storage.indexedFolders}
      actions={
        <Button size="small" isBusy={progress !== undefined} onClick={() => void sync()}>
          {t.storage.reindex}
        </Button>
      }
    >
      {roots.error && <Failure error={roots.error} onRetry={roots.refresh} />}
      <p role="status" className="text-sm text-soft">
        {progress && t.storage.progressPath(progress.done, progress.total, progress.path)}
      </p>
      <ul>
        {roots.data?.roots.map(({ path, is_workspace, files }) => (
          <li key={path} className="flex items-center gap-3 border-b border-line py-2 last:border-b-0">
            <div className="min-w-0 flex-1">
              <p className="font-mono text-sm">{path}</p>
              <p className="text-xs text-soft">
                {t.storage.files(files)}
                {is_workspace && t.storage.partWorkspaceAlwaysIndexed}
              </p>
            </div>
            {!is_workspace && (
              <Button size="small" kind="danger" aria-label={t.storage.remove(path)} onClick={() => setLeaving(path)}>
                {t.storage.removeTitle}
              </Button>
            )}
          </li>
        ))}
      </ul>
      <p className="mt-2 text-sm text-soft">
        <Rich text={t.storage.addFolderHelp} />
      </p>
      <Dialog
        isOpen={leaving !== undefined}
        onClose={() => setLeaving(undefined)}
        title={t.storage.removeThisFolder}
        description={t.storage.passagesRemovedFromMemory}
      >
        <p className="mb-4 font-mono text-sm">{leaving}</p>
        <Button kind="danger" onClick={() => leaving !== undefined && void forget(leaving)}>
          {t.storage.removeTitle}
        </Button>
      </Dialog>
    </Section>
  )
}

function StoreFigures({ stats }: { stats: MemoryStatsReply }) {
  const { memories, superseded, edges, files, embedding, database_bytes } = stats
  const figures: [string, string][] = [
    ...Object.entries(memories).map(([kind, count]): [string, string] => [
      t.memory.kinds[kind as Kind],
      formatNumber(count),
    ]),
    [t.storage.outdated, formatNumber(superseded)],
    [t.storage.links, formatNumber(edges)],
    [t.common.files, files.files === 0 ? '0' : `${formatNumber(files.files)}, ${formatBytes(files.bytes)}`],
    [t.storage.database, formatBytes(database_bytes)],
  ]
  return (
    <Section title={t.storage.usage}>
      <dl className="grid grid-cols-2 gap-3 sm:grid-cols-3 lg:grid-cols-5">
        {figures.map(([name, value]) => (
          <div key={name} className="flex flex-col-reverse rounded-xl bg-sunken px-3 py-2">
            <dt className="text-xs text-soft">{name}</dt>
            <dd className="text-lg font-semibold tabular-nums">{value}</dd>
          </div>
        ))}
      </dl>
      <p className="mt-3 text-sm text-soft">
        {embedding
          ? t.storage.foundMeaning(
              formatNumber(embedding.embedded),
              formatNumber(embedding.total),
              embedding.model,
              embedding.is_running ? t.storage.indexingRestNow : '',
            )
          : t.storage.noEmbeddingsSearchUses}
      </p>
      {embedding?.problem && <Notice kind="warning">{embedding.problem}</Notice>}
    </Section>
  )
}

const trust = [
  { value: 'untrusted', label: t.storage.untrusted },
  { value: 'owner', label: t.storage.trusted },
]

/** Everything out as a file, and in again. */
function Transfer({ onImported }: { onImported(): void }) {
  const toasts = useToasts()
  const input = useRef<HTMLInputElement>(null)
  const [label, setLabel] = useState<'untrusted' | 'owner'>('untrusted')
  const [progress, setProgress] = useState<ImportProgressReply>()
  const [report, setReport] = useState<ImportReply>()

  async function download(format: 'jsonl' | 'markdown'): Promise<void> {
    try {
      const response = await callRaw('memories.export', { format })
      save(await response.blob(), `familiar-memories.${format === 'jsonl' ? 'jsonl' : 'md'}`)
    } catch (error) {
      toasts.failed(error)
    }
  }

  async function upload(event: ChangeEvent<HTMLInputElement>): Promise<void> {
    const file = event.target.files?.[0]
    // The same file again is a choice, too.
    event.target.value = ''
    if (!file) return
    setProgress({ line: 0, added: 0 })
    setReport(undefined)
    try {
      const isMarkdown = /\.(?:md|markdown|txt)$/i.test(file.name)
      const raw = { data: file, mediaType: isMarkdown ? 'text/markdown' : 'application/x-ndjson' }
      const request = callRaw('memories.importLines', { label }, { accept: 'text/event-stream', raw })
      setReport(await withProgress<ImportProgressReply, ImportReply>(request, setProgress))
      onImported()
    } catch (error) {
      toasts.failed(error)
    } finally {
      setProgress(undefined)
    }
  }

  return (
    <Section title={t.storage.exportAndImport}>
      <div className="flex flex-wrap gap-2">
        <Button onClick={() => void download('jsonl')}>
          <Icon name="arrow_down" size={16} /> {t.storage.exportJsonLines}
        </Button>
        <Button onClick={() => void download('markdown')}>
          <Icon name="arrow_down" size={16} /> {t.storage.exportMarkdown}
        </Button>
      </div>
      <div className="mt-4 flex flex-wrap items-end gap-2">
        <SelectField
          label={t.storage.trustImportedData}
          className="min-w-52"
          choices={trust}
          value={label}
          onChange={(value) => setLabel(value === 'owner' ? 'owner' : 'untrusted')}
        />
        <input
          ref={input}
          type="file"
          accept=".jsonl,.ndjson,.md,.markdown,.txt"
          aria-label={t.storage.fileToImport}
          className="sr-only"
          tabIndex={-1}
          onChange={(event) => void upload(event)}
        />
        <Button isBusy={progress !== undefined} onClick={() => input.current?.click()}>
          <Icon name="arrow_up" size={16} /> {t.storage.import}
        </Button>
      </div>
      <div role="status" className="mt-3 text-sm text-soft">
        {progress && t.storage.lineAdded(progress.line, progress.added)}
        {report && <ImportReport report={report} />}
      </div>
    </Section>
  )
}

function ImportReport({ report: { added, known, problems, is_finished } }: { report: ImportReply }) {
  return (
    <>
      <p>
        {t.storage.addedMemoriesLinksNames(added.memories, added.edges, added.names, known)}
        {!is_finished && t.storage.stoppedImportSameFile}
      </p>
      {problems.count > 0 && (
        <Notice kind="warning">
          {t.storage.linesWereSkipped(problems.count)}{' '}
          {problems.first.map(({ line, message }) => t.storage.line(line, message)).join(' · ')}
        </Notice>
      )}
    </>
  )
}

function save(content: Blob, name: string): void {
  const address = URL.createObjectURL(content)
  const link = document.createElement('a')
  link.href = address
  link.download = name
  link.click()
  URL.revokeObjectURL(address)
}

/** All memories at once: how much there is, where it comes from, and how it gets out and in. */
export function StoreTab() {
  const stats = useAnswer('memories.stats', {}, { everyMs: 10_000 })
  return (
    <>
      {stats.error && <Failure error={stats.error} onRetry={stats.refresh} />}
      {stats.data && <StoreFigures stats={stats.data} />}
      {stats.data && <LearningPanel stats={stats.data} onLearnt={stats.refresh} />}
      <IndexedFolders onChanged={stats.refresh} />
      <OtherNames />
      <Transfer onImported={stats.refresh} />
      <ForgetEverything onForgotten={stats.refresh} />
    </>
  )
}
