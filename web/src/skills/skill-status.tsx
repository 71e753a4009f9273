import type { SkillSummaryReply } from '../../../src/protocol/skill-api.ts'
import { classes } from '../components/classes.ts'

const words = { on: 'On', off: 'Off', error: 'Broken' }

export function SkillStatus({ skill: { status, is_always } }: { skill: SkillSummaryReply }) {
  return (
    <span
      className={classes(
        'shrink-0 text-sm font-medium',
        status === 'on' ? 'text-good' : status === 'error' ? 'text-bad' : 'text-soft',
      )}
    >
      {words[status]}
      {status === 'on' && is_always && ', always read'}
    </span>
  )
}

/** Why it is not on, without the command, which stands apart. */
export function reasonOf({ problem }: SkillSummaryReply): string | null {
  return problem?.replace(/\s*To [^:]*: familiar skills enable \S+$/, '') ?? null
}
