import { useState } from 'react'
import type { RootsReply, SyncProgressReply, SyncReply } from '../../../../src/protocol/memory-upkeep-api.ts'
import { ask } from '../../api/ask.ts'
import { useAnswer } from '../../api/use-answer.ts'
import { Button } from '../../components/button.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { Failure } from '../../components/notice.tsx'
import { Section } from '../../components/screen.tsx'
import { useToasts } from '../../components/toast.tsx'
import { askWithProgress } from '../ask-with-progress.ts'

/** The files and folders whose passages are memories. A new one is named on the machine itself, never over the net. */
export function IndexedFolders({ onChanged }: { onChanged(): void }) {
  const roots = useAnswer<RootsReply>('/memories/roots')
  const toasts = useToasts()
  const [progress, setProgress] = useState<SyncProgressReply>()
  const [leaving, setLeaving] = useState<string>()

  async function sync(): Promise<void> {
    setProgress({ done: 0, total: 0, path: '' })
    try {
      const { added, changed, removed } = await askWithProgress<SyncProgressReply, SyncReply>('/memories/sync', {
        body: '{}',
        mediaType: 'application/json',
        onProgress: setProgress,
      })
      toasts.done(`Read again: ${added} new, ${changed} changed, ${removed} gone.`)
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
      await ask('/memories/roots', { method: 'DELETE', query: { path } })
      toasts.done('No longer indexed. The files themselves stay.')
      roots.refresh()
      onChanged()
    } catch (error) {
      toasts.failed(error)
    }
  }

  return (
    <Section
      title="Indexed folders"
      actions={
        <Button size="small" isBusy={progress !== undefined} onClick={() => void sync()}>
          Read them again
        </Button>
      }
    >
      {roots.error && <Failure error={roots.error} onRetry={roots.refresh} />}
      <p role="status" className="text-sm text-soft">
        {progress && `${progress.done} of ${progress.total}: ${progress.path}`}
      </p>
      <ul>
        {roots.data?.roots.map(({ path, is_workspace, files }) => (
          <li key={path} className="flex items-center gap-3 border-b border-line py-2 last:border-b-0">
            <div className="min-w-0 flex-1">
              <p className="font-mono text-sm">{path}</p>
              <p className="text-xs text-soft">
                {files} {files === 1 ? 'file' : 'files'}
                {is_workspace && ' · part of the workspace, always indexed'}
              </p>
            </div>
            {!is_workspace && (
              <Button size="small" kind="danger" aria-label={`Forget ${path}`} onClick={() => setLeaving(path)}>
                Forget
              </Button>
            )}
          </li>
        ))}
      </ul>
      <p className="mt-2 text-sm text-soft">
        To add one, run <code className="font-mono text-xs">familiar memory index PATH</code> on this machine.
      </p>
      <Dialog
        isOpen={leaving !== undefined}
        onClose={() => setLeaving(undefined)}
        title="Forget this folder?"
        description="All passages of it leave memory. The files themselves stay as they are."
      >
        <p className="mb-4 font-mono text-sm">{leaving}</p>
        <Button kind="danger" onClick={() => leaving !== undefined && void forget(leaving)}>
          Forget it
        </Button>
      </Dialog>
    </Section>
  )
}
