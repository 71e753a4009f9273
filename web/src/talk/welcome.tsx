import { useWho } from '../shell/who.ts'

const ideas = [
  'Remember that my passport expires in March',
  'What do you know about me?',
  'Remind me on Friday at nine to call the dentist',
  'Build a tool that tells me when my train is late',
]

/** A first look: what can be said here. */
export function Welcome() {
  const { agent_name } = useWho()
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard.
    <div tabIndex={0} className="min-h-0 flex-1 overflow-y-auto outline-none">
      <div className="mx-auto flex min-h-full max-w-xl flex-col justify-center px-6 py-10">
        <h1 className="text-3xl font-semibold tracking-tight">Hello. I am {agent_name}.</h1>
        <p className="mt-2 text-soft">
          I remember what you tell me, and it stays on this machine. Type <kbd className="font-mono">/</kbd> for
          commands, <kbd className="font-mono">@</kbd> to name a file, <kbd className="font-mono">@@</kbd> to name a
          block.
        </p>
        <ul className="mt-6 space-y-1.5 text-soft">
          {ideas.map((idea) => (
            <li key={idea}>“{idea}”</li>
          ))}
        </ul>
      </div>
    </div>
  )
}
