import type { AssetHistoryReply } from '../../../src/protocol/asset-api.ts'
import { ask } from '../api/ask.ts'
import { useAnswer } from '../api/use-answer.ts'
import { Button } from '../components/button.tsx'
import { Empty } from '../components/notice.tsx'
import { useToasts } from '../components/toast.tsx'
import { apiPath } from './block-label.ts'

/** Nothing is there now. What once was can come back. */
export function DeletedBlock({ label, onRestored }: { label: string; onRestored(): void }) {
  const toasts = useToasts()
  const { data, isLoading } = useAnswer<AssetHistoryReply>(`${apiPath(label)}/history`)
  const newest = data?.versions.find(({ was_there }) => was_there)

  async function restore(version: number): Promise<void> {
    try {
      await ask(`${apiPath(label)}/undo`, { body: { version } })
      onRestored()
    } catch (error) {
      toasts.failed(error)
    }
  }

  if (isLoading) return null
  return (
    <Empty title={newest ? 'This block was deleted' : 'There is no such block'}>
      {newest && (
        <Button kind="main" className="mt-3" onClick={() => void restore(newest.version)}>
          Bring version {newest.version} back
        </Button>
      )}
    </Empty>
  )
}
