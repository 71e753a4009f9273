import { useEffect, useState } from 'react'
import type { AssetHistoryReply, AssetWrittenReply } from '../../../src/protocol/asset-api.ts'
import { ask } from '../api/ask.ts'
import { useAnswer } from '../api/use-answer.ts'
import { Button } from '../components/button.tsx'
import { classes } from '../components/classes.ts'
import { Failure } from '../components/notice.tsx'
import { useToasts } from '../components/toast.tsx'
import { Link } from '../shell/link.tsx'
import { usePlace } from '../shell/router.ts'
import { apiPath, placeOf } from './block-label.ts'
import { DiffView } from './diff-view.tsx'
import { type Block, loadVersion } from './use-block.ts'

/** Every version with who wrote it; one of them beside what is there now, to be brought back. */
export function VersionsView(props: { label: string; block: Block; canWrite: boolean; onChanged(): void }) {
  const { label, block, canWrite, onChanged } = props
  const toasts = useToasts()
  const { query } = usePlace()
  const { data, error, refresh } = useAnswer<AssetHistoryReply>(`${apiPath(label)}/history`)
  const given = query.get('version')
  const wanted = given === null ? undefined : Number(given)
  const versions = data?.versions ?? []
  const chosen =
    versions.find(({ version }) => version === wanted) ?? versions.find(({ version }) => version < block.version)

  async function bringBack(version: number, from: string | null): Promise<void> {
    try {
      const body = { version, ...(from !== null && { etag: from }) }
      const undone = await ask<AssetWrittenReply>(`${apiPath(label)}/undo`, { body })
      toasts.done(`Version ${version} is back, as version ${undone.version}.`, {
        label: 'Undo',
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
      <ol aria-label="Versions, the newest first" className="max-h-[32rem] space-y-1 overflow-y-auto">
        {versions.map(({ version, at, author, tokens, was_there }) => (
          <li key={version}>
            <Link
              href={`${placeOf(label)}?tab=versions&version=${version}`}
              aria-current={version === chosen?.version || undefined}
              className={classes(
                'block rounded-lg px-3 py-1.5 hover:bg-sunken',
                version === chosen?.version && 'bg-accent-soft',
              )}
            >
              <span className="block text-sm font-medium">
                Version {version}
                {version === block.version && ', now'}
              </span>
              <span className="block text-xs text-soft">
                {was_there
                  ? `${author === 'user' ? 'you' : 'Familiar'} · ${new Date(at).toLocaleString()} · ${tokens.toLocaleString()} tokens`
                  : 'it was not there'}
              </span>
            </Link>
          </li>
        ))}
      </ol>
      {chosen && chosen.version !== block.version ? (
        <section aria-label={`Version ${chosen.version}`} className="min-w-0">
          <div className="mb-2 flex flex-wrap items-center justify-between gap-2">
            <h2 className="font-medium">
              From version {chosen.version} to now (version {block.version})
            </h2>
            {canWrite && chosen.was_there && (
              <Button onClick={() => void bringBack(chosen.version, block.etag)}>
                Bring version {chosen.version} back
              </Button>
            )}
          </div>
          <VersionDiff label={label} version={chosen.version} now={block.content} />
        </section>
      ) : (
        <p className="text-sm text-soft">
          {versions.length > 1 ? 'This is what is there now. Choose another one to see what changed since.' : ''}
        </p>
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
  if (content === undefined) return <p className="breathing text-sm text-soft">One moment …</p>
  return <DiffView label={`What changed since version ${version}`} before={content ?? ''} after={now} />
}
