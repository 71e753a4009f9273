import { Icon } from '../components/icon.tsx'

/** What a tool calls its icon: an emoji is shown; any other word is not. */
export function ToolIcon({ icon }: { icon: string | null }) {
  const isPicture = icon !== null && /^\p{Extended_Pictographic}/u.test(icon)
  return (
    <span aria-hidden="true" className="flex size-6 shrink-0 items-center justify-center text-soft">
      {isPicture ? [...icon].slice(0, 4).join('') : <Icon name="tool" />}
    </span>
  )
}
