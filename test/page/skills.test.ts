import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { describePage } from './support/describe-page.ts'
import { findFaults } from './support/find-faults.ts'
import { openPage } from './support/open-page.ts'

describePage('skills in the page', () => {
  it('PAGE-6 SEC-4 a skill is read and turned off; the page names the command that turns it on', async () => {
    const { page, familiar } = await openPage({ path: '/skills' })
    await page.getByText('No skills yet').waitFor()
    const folder = join(familiar.home, 'workspace', 'skills', 'tea')
    mkdirSync(folder, { recursive: true })
    writeFileSync(
      join(folder, 'SKILL.md'),
      '---\nname: tea\ndescription: How tea is made.\n---\n\n# Tea\n\nBoil <script>alert(1)</script> water.\n',
    )
    await page.getByRole('button', { name: 'Reload' }).click()
    await page.getByRole('link', { name: /tea/ }).filter({ hasText: 'How tea is made.' }).click()
    await page.getByText('<script>alert(1)</script>').waitFor()
    await page.getByRole('button', { name: 'Turn off' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Turn off' }).click()
    await page.getByText('familiar skills enable tea').waitFor()
    expect(await findFaults(page)).toEqual([])
    const skills = await familiar.request('GET', '/api/v1/skills')
    expect(await skills.json()).toMatchObject({ skills: [{ name: 'tea', status: 'off' }] })
    await page.getByRole('link', { name: 'All skills' }).click()
    await page.getByRole('link', { name: /tea/ }).filter({ hasText: 'Off' }).waitFor()
  })
})
