import { configureGlobal } from 'fast-check'

const usualSeed = 1

/**
 * A usual run tries the same cases every time, so that it fails for what was changed and not for luck. Others are tried with
 * FAMILIAR_TEST_ALL, or from FAMILIAR_TEST_SEED on.
 */
const { FAMILIAR_TEST_ALL: all, FAMILIAR_TEST_SEED: seed = usualSeed } = process.env
configureGlobal(all ? {} : { seed: Number(seed) })
