import { afterEach, describe, expect, it } from 'vitest'
import { canOpenTerminal, cleanUp, familiarJson, newHome, startAtTerminal } from '../e2e/cli-process.ts'

afterEach(cleanUp)

describe.skipIf(!canOpenTerminal)('at a terminal', () => {
  it('CMD-1 a chat has every command, completes them, and asks first', async () => {
    const home = newHome()
    const terminal = startAtTerminal(['start', '--plain'], { home })
    const type = (text: string) => terminal.child.stdin.write(text)
    await terminal.untilShows(/› /)
    type('/help\r')
    await terminal.untilShows(/\/blocks \[FOLDER\][\s\S]*\/unpin LABEL[\s\S]*At this terminal:[\s\S]*\/status/)
    type('/rem\t')
    await terminal.untilShows(/\/help[\s\S]*At this terminal[\s\S]*\/remember /)
    type('The neighbour is called Tom.\r')
    await terminal.untilShows(/Noted \[memory:/)
    type('/forget neighbour Tom\r')
    await terminal.untilShows(
      /Forget \[memory:[\w-]+\] of [\d-]+: “The neighbour is called Tom\.”\?[\s\S]*yes confirms/,
    )
    type('no\r')
    await terminal.untilShows(/nothing changed/)
    expect(await familiarJson(['status'], { home })).toMatchObject({ stats: { sessions: 0 } })
    type('/forget neighbour Tom\r')
    await terminal.untilShows(/nothing changed[\s\S]*yes confirms/)
    type('yes\r')
    await terminal.untilShows(/Forgot \[memory:/)
    type('/recall neighbour\r')
    await terminal.untilShows(/I have no memory about that\./)
    type('/exit\r')
    expect(await terminal.ended).toMatchObject({ code: 0 })
  })
})
