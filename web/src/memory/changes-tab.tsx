import type { ChangesReply } from '../../../src/protocol/memory-api.ts'
import { useAnswer } from '../api/use-answer.ts'
import { Empty, Failure } from '../components/notice.tsx'
import { ChangeList } from './change-list.tsx'

export function ChangesTab() {
  const answer = useAnswer<ChangesReply>('/memories/changes', { query: { limit: 500 } })
  if (answer.error) return <Failure error={answer.error} onRetry={answer.refresh} />
  if (!answer.data) return null
  const { changes } = answer.data
  if (changes.length === 0) {
    return (
      <Empty title="Nothing was changed">What is edited or forgotten stands here for 30 days and can be undone.</Empty>
    )
  }
  return <ChangeList changes={changes} onUndone={answer.refresh} />
}
