import type { MemorySearchReply } from '../../../../src/protocol/memory-api.ts'
import { Fold } from '../../components/fold.tsx'
import { formatAdded, reasonsOf } from './why.ts'

type Result = MemorySearchReply['results'][number]

/** Why it was found, ranker by ranker, with what each added to its score. */
export function WhyView({ why, score }: { why: NonNullable<Result['why']>; score: number }) {
  const reasons = reasonsOf(why.signals)
  const most = reasons
    .slice(0, 3)
    .map(({ name }) => name.toLowerCase())
    .join(', ')
  return (
    <div className="mt-2">
      <Fold icon="gauge" title="Why" detail={`${score.toFixed(2)} · ${most}`}>
        <table className="w-full text-sm">
          <caption className="sr-only">What each way of looking added to its score</caption>
          <tbody>
            {reasons.map(({ key, name, meaning, rank, added, share }) => (
              <tr key={key} title={meaning}>
                <th scope="row" className="py-0.5 pe-3 text-start font-normal whitespace-nowrap">
                  {name}
                  {rank !== undefined && <span className="text-soft"> no. {rank}</span>}
                </th>
                <td className="w-full py-0.5">
                  <svg
                    viewBox="0 0 100 4"
                    preserveAspectRatio="none"
                    className={added < 0 ? 'h-1.5 w-full text-warn' : 'h-1.5 w-full text-accent'}
                    aria-hidden="true"
                  >
                    <rect width={share * 100} height={4} fill="currentColor" />
                  </svg>
                </td>
                <td className="py-0.5 ps-3 text-end whitespace-nowrap tabular-nums">{formatAdded(added)}</td>
              </tr>
            ))}
          </tbody>
        </table>
        <p className="mt-2 text-xs text-soft">
          Together {score.toFixed(2)}. Its strength now is {Math.round(why.strength * 100)}%.
        </p>
      </Fold>
    </div>
  )
}
