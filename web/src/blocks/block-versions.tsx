import { useEffect, useMemo, useState } from 'react'
import { call, useAnswer } from '../api/call.ts'
import { Button, classes } from '../components/controls.tsx'
import { Failure, useToasts } from '../components/feedback.tsx'
import { Link, usePlace } from '../shell/router.tsx'
import { formatDate, formatNumber } from '../strings/format.ts'
import { t } from '../strings/strings.ts'
import { type Block, loadVersion } from './block-screen.tsx'
import { type DiffRow, diffLines, pathOfLabel, withContext } from './blocks.ts'

const marks = { same: ' ', added: '+', removed: '−' }
const names = { same: '', added: t.notes.added, removed: t.notes.removed }

/** The differences between two texts, readable without colors and by a screen reader. */
export function DiffView({ before, after, label }: { before: string; after: string; label: string }) {
  const lines = useMemo(() => diffLines(before, after), [before, after])
  const rows = useMemo(() => withContext(lines), [lines])
  const added = lines.filter(({ kind }) => kind === 'added').length
  const removed = lines.filter(({ kind }) => kind === 'removed').length
  if (added + removed === 0) return <p className="text-sm text-soft">{t.notes.noDifferences}</p>
  return (
    <div>
      <p className="mb-1 text-sm text-soft">{t.notes.linesChanged(removed, added)}</p>
      <section
        aria-label={label}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard.
        tabIndex={0}
        className="max-h-[60vh] overflow-auto rounded-xl border border-line bg-raised py-2 font-mono text-[0.8125rem] leading-relaxed"
      >
        {rows.map((row, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: lines have no other name.
          <Row key={index} row={row} />
        ))}
      </section>
    </div>
  )
}

function Row({ row }: { row: DiffRow }) {
  if (row.kind === 'left_out') {
    return <p className="px-3 py-1 text-soft">{t.notes.linesUnchanged(row.count)}</p>
  }
  return (
    <p
      className={classes(
        'flex gap-2 px-3 whitespace-pre-wrap',
        row.kind === 'added' && 'bg-good-soft text-good',
        row.kind === 'removed' && 'bg-bad-soft text-bad',
      )}
    >
      <span aria-hidden="true" className="w-3 shrink-0 select-none">
        {marks[row.kind]}
      </span>
      <span className="min-w-0">
        <span className="sr-only">{names[row.kind]}</span>
        {row.text}
      </span>
    </p>
  )
}

/** All versions with their authors; the selected one is compared with the current text and can be restored. */
export function VersionsView(props: { label: string; block: Block; canWrite: boolean; onChanged(): void }) {
  const { label, block, canWrite, onChanged } = props
  const toasts = useToasts()
  const { query } = usePlace()
  const { data, error, refresh } = useAnswer('blocks.history', { label })
  const given = query.get('version')
  const wanted = given === null ? undefined : Number(given)
  const versions = data?.versions ?? []
  const chosen =
    versions.find(({ version }) => version === wanted) ?? versions.find(({ version }) => version < block.version)

  async function bringBack(version: number, from: string | null): Promise<void> {
    try {
      const undone = await call('blocks.undo', { label, version, etag: from ?? undefined })
      toasts.done(t.notes.restoredVersionVersion(version, undone.version), {
        label: t.common.undo,
        run: () => void bringBack(block.version, undone.etag),
      })
      refresh()
      onChanged()
    } catch (cause) {
      toasts.failed(cause)
    }
  }

  if (error) return <Failure error={error} onRetry={refresh} />
  return (
    <div className="grid gap-4 md:grid-cols-[16rem_1fr]">
      <ol aria-label={t.notes.versionsNewestFirst} className="max-h-[32rem] space-y-1 overflow-y-auto">
        {versions.map(({ version, at, author, tokens, was_there }) => (
          <li key={version}>
            <Link
              href={`${pathOfLabel(label)}?tab=versions&version=${version}`}
              aria-current={version === chosen?.version || undefined}
              className={classes(
                'block rounded-lg px-3 py-1.5 hover:bg-sunken',
                version === chosen?.version && 'bg-accent-soft',
              )}
            >
              <span className="block text-sm font-medium">
                {t.notes.versionVersion(version)}
                {version === block.version && t.notes.current}
              </span>
              <span className="block text-xs text-soft">
                {was_there
                  ? t.notes.tokens(author === 'user' ? 'you' : t.notes.familiar, formatDate(at), formatNumber(tokens))
                  : t.notes.deleted}
              </span>
            </Link>
          </li>
        ))}
      </ol>
      {chosen && chosen.version !== block.version ? (
        <section aria-label={t.notes.versionVersion(chosen.version)} className="min-w-0">
          <div className="mb-2 flex flex-wrap items-center justify-between gap-2">
            <h2 className="font-medium">{t.notes.fromVersionCurrentVersion(chosen.version, block.version)}</h2>
            {canWrite && chosen.was_there && (
              <Button onClick={() => void bringBack(chosen.version, block.etag)}>
                {t.notes.restoreVersion(chosen.version)}
              </Button>
            )}
          </div>
          <VersionDiff label={label} version={chosen.version} now={block.content} />
        </section>
      ) : (
        <p className="text-sm text-soft">{versions.length > 1 ? t.notes.currentVersionChooseAnother : ''}</p>
      )}
    </div>
  )
}

function VersionDiff({ label, version, now }: { label: string; version: number; now: string }) {
  const [content, setContent] = useState<string | null>()
  const [error, setError] = useState<Error>()
  useEffect(() => {
    const controller = new AbortController()
    setContent(undefined)
    setError(undefined)
    loadVersion(label, version, controller.signal).then(setContent, (cause: Error) => {
      if (!controller.signal.aborted) setError(cause)
    })
    return () => controller.abort()
  }, [label, version])
  if (error) return <Failure error={error} />
  if (content === undefined) return <p className="breathing text-sm text-soft">{t.common.loading}</p>
  return <DiffView label={t.notes.changesSinceVersion(version)} before={content ?? ''} after={now} />
}
