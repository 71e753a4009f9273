import { expect, it } from 'vitest'
import { describePage } from './support/describe-page.ts'
import { findFaults, sidewaysBy } from './support/find-faults.ts'
import { openPage, say } from './support/open-page.ts'

describePage('the palette', () => {
  it('PAGE-4 finds screens, conversations and actions by the keyboard alone', async () => {
    const { page, fake } = await openPage()
    fake.reply({ text: 'It rises at six.' })
    await say(page, 'When does the sun rise in Malta?')
    await page.getByRole('log').getByText('It rises at six.').waitFor()
    const talk = page.url()

    await page.keyboard.press('Control+k')
    const field = page.getByRole('combobox', { name: 'Quick search' })
    await field.waitFor()
    await page.keyboard.type('sched')
    await page.getByRole('option', { name: 'Schedules', exact: true }).waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Schedules' }).waitFor()

    await page.keyboard.press('Control+k')
    await page.keyboard.type('malta')
    await page.getByRole('option', { name: /Malta/ }).first().waitFor()
    await page.keyboard.press('Enter')
    await page.waitForURL(talk)

    await page.keyboard.press('Control+k')
    await page.keyboard.type('dark th')
    await page.keyboard.press('Enter')
    expect(await page.evaluate('document.documentElement.dataset.theme')).toBe('dark')
  })

  it('PAGE-4 is opened, used and closed by the mouse, and by the arrows', async () => {
    const { page } = await openPage()
    const find = page.getByRole('combobox', { name: 'Quick search' })
    await page.getByRole('button', { name: 'Quick search' }).click()
    await find.fill('mem')
    await page.getByRole('option', { name: 'Memory', exact: true }).click()
    await page.getByRole('heading', { name: 'Memory' }).waitFor()
    await find.waitFor({ state: 'detached' })

    await page.getByRole('button', { name: 'Quick search' }).click()
    await find.waitFor()
    await page.mouse.click(5, 755)
    await find.waitFor({ state: 'detached' })
    expect(new URL(page.url()).pathname).toBe('/memory')

    await page.keyboard.press('Control+k')
    await find.fill('s')
    const chosen = () => page.getByRole('option', { selected: true }).first().textContent()
    const first = await chosen()
    await page.keyboard.press('ArrowDown')
    await expect.poll(chosen).not.toBe(first)
    await page.keyboard.press('ArrowUp')
    await expect.poll(chosen).toBe(first)
    await page.keyboard.press('Escape')
    await find.waitFor({ state: 'detached' })
  })

  it('PAGE-4 runs a command and shows its output', async () => {
    const { page } = await openPage()
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox', { name: 'Quick search' }).fill('/model ')
    await page.keyboard.press('Enter')
    await page.getByText('fake/main answers here.').waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('combobox', { name: 'Quick search' }).waitFor({ state: 'detached' })
  })

  it.each(['light', 'dark'] as const)(
    'PAGE-4 axe finds nothing serious in it and in the key map, %s',
    async (colorScheme) => {
      const { page } = await openPage({ context: { colorScheme, viewport: { width: 360, height: 740 } } })
      await page.keyboard.press('Control+k')
      await page.getByRole('option', { name: /^\// }).first().waitFor()
      expect(await findFaults(page)).toEqual([])
      expect(await sidewaysBy(page)).toBe(0)
      await page.getByRole('option', { name: 'Keyboard shortcuts' }).click()
      await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor()
      expect(await findFaults(page)).toEqual([])
      expect(await sidewaysBy(page)).toBe(0)
    },
  )

  it('PAGE-4 letters are shortcuts only after the user turned them on', async () => {
    const { page } = await openPage({ path: '/settings' })
    const heading = page.getByRole('heading', { name: 'Settings' })
    await heading.waitFor()
    await page.keyboard.type('n?ge')
    expect(await page.getByRole('dialog').count()).toBe(0)
    expect(new URL(page.url()).pathname).toBe('/settings')
    await page.getByLabel('Single-letter shortcuts').check()
    await heading.click()
    await page.keyboard.press('?')
    await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.keyboard.press('g')
    await page.keyboard.press('d')
    await page.getByRole('heading', { name: 'Health check' }).waitFor()
    await page.keyboard.press('n')
    const message = page.getByRole('combobox', { name: 'Message' })
    await message.waitFor()
    await expect.poll(() => page.evaluate('document.activeElement.ariaLabel')).toBe('Message')
    await page.getByRole('log').or(page.locator('main [tabindex="0"]')).first().focus()
    await page.keyboard.press('/')
    await expect.poll(() => page.evaluate('document.activeElement.ariaLabel')).toBe('Message')
    await page.keyboard.type('n?gd')
    expect(await message.inputValue()).toBe('n?gd')

    await page.goto(new URL('/settings', page.url()).href)
    await page.getByLabel('Single-letter shortcuts').uncheck()
    await heading.click()
    await page.keyboard.press('n')
    await page.keyboard.press('?')
    expect(await page.getByRole('dialog').count()).toBe(0)
    expect(new URL(page.url()).pathname).toBe('/settings')
  })
})
