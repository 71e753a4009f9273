import { formatCount } from '../../base/format.ts'
import type { TransferPhase } from '../../storage/transfer/transfer-database.ts'
import type { CommandContext } from '../command.ts'

const words: Record<TransferPhase, string> = {
  reading: 'Reading the source',
  copying: 'Copying rows',
  indexing: 'Indexing memories',
  checking: 'Checking what was written',
}
const drawnEveryMs = 100

export interface ShownProgress {
  step(phase: TransferPhase, done: number, total: number): void
  /** Takes away what was drawn. */
  end(): void
}

/** A line that is drawn over on a terminal; elsewhere a line for each tenth. */
export function showProgress({ stderr, output }: Pick<CommandContext, 'stderr' | 'output'>): ShownProgress {
  let drawnAt = Number.NEGATIVE_INFINITY
  let noted = ''
  return {
    step(phase, done, total) {
      const count = total > 0 ? `${formatCount(done)} of ${formatCount(total)}` : formatCount(done)
      if (stderr.isTTY) {
        if (performance.now() - drawnAt < drawnEveryMs && done < total) return
        drawnAt = performance.now()
        stderr.write(`\r\u001b[K${words[phase]}: ${count}`)
        return
      }
      const mark = `${phase} ${total > 0 ? Math.floor((done / total) * 10) : ''}`
      if (mark === noted) return
      noted = mark
      output.note(total > 0 ? `${words[phase]}: ${count}` : words[phase])
    },
    end: () => void (stderr.isTTY && stderr.write('\r\u001b[K')),
  }
}
