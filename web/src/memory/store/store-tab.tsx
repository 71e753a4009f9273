import type { MemoryStatsReply } from '../../../../src/protocol/memory-upkeep-api.ts'
import { useAnswer } from '../../api/use-answer.ts'
import { Failure } from '../../components/notice.tsx'
import { ForgetEverything } from './forget-everything.tsx'
import { IndexedFolders } from './indexed-folders.tsx'
import { Learning } from './learning.tsx'
import { OtherNames } from './other-names.tsx'
import { StoreFigures } from './store-figures.tsx'
import { Transfer } from './transfer.tsx'

/** All memories at once: how much there is, where it comes from, and how it gets out and in. */
export function StoreTab() {
  const stats = useAnswer<MemoryStatsReply>('/memories/stats', { everyMs: 10_000 })
  return (
    <>
      {stats.error && <Failure error={stats.error} onRetry={stats.refresh} />}
      {stats.data && <StoreFigures stats={stats.data} />}
      {stats.data && <Learning stats={stats.data} onLearnt={stats.refresh} />}
      <IndexedFolders onChanged={stats.refresh} />
      <OtherNames />
      <Transfer onImported={stats.refresh} />
      <ForgetEverything onForgotten={stats.refresh} />
    </>
  )
}
