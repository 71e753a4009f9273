import { useState } from 'react'
import type {
  ConsolidatedReply,
  ConsolidateProgressReply,
  MemoryStatsReply,
} from '../../../../src/protocol/memory-upkeep-api.ts'
import { Button } from '../../components/button.tsx'
import { Notice } from '../../components/notice.tsx'
import { Section } from '../../components/screen.tsx'
import { useToasts } from '../../components/toast.tsx'
import { askWithProgress } from '../ask-with-progress.ts'
import { formatMoment } from '../times.ts'

/** What waits to be learnt from, and learning from it now. */
export function Learning({ stats, onLearnt }: { stats: MemoryStatsReply; onLearnt(): void }) {
  const { waiting, extraction, consolidation } = stats.learning
  const toasts = useToasts()
  const [progress, setProgress] = useState<ConsolidateProgressReply>()

  async function learn(): Promise<void> {
    setProgress({ done: 0, total: waiting, session: null })
    try {
      const { added, problems } = await askWithProgress<ConsolidateProgressReply, ConsolidatedReply>(
        '/memories/consolidate',
        { body: '{}', mediaType: 'application/json', onProgress: setProgress },
      )
      const [problem] = problems
      if (problem) toasts.failed(`Not all was learnt from: ${problem.message}`)
      else toasts.done(`Learnt ${added.facts} facts, ${added.episodes} episodes, ${added.commitments} commitments.`)
      onLearnt()
    } catch (error) {
      toasts.failed(error)
    } finally {
      setProgress(undefined)
    }
  }

  return (
    <Section
      title="Learning"
      actions={
        <Button size="small" isBusy={progress !== undefined} onClick={() => void learn()}>
          Learn from all conversations now
        </Button>
      }
    >
      <p className="text-sm text-soft" role="status">
        {progress
          ? `${progress.done} of ${progress.total} …`
          : waiting === 0
            ? 'Nothing waits to be learnt from.'
            : `${waiting} ${waiting === 1 ? 'conversation waits' : 'conversations wait'} to be learnt from.`}
      </p>
      {[extraction, consolidation].map(
        (trouble) =>
          trouble && (
            <div key={trouble.last.at} className="mt-2">
              <Notice kind="warning">
                Learning failed {trouble.failures} {trouble.failures === 1 ? 'time' : 'times'}, last{' '}
                {formatMoment(trouble.last.at)}: {trouble.last.reason}
              </Notice>
            </div>
          ),
      )}
    </Section>
  )
}
