/**
 * What can be wrong with bytes, claims and values from outside, named by the stages of SPEC.md.
 * No error text contains a person's value, prior or key.
 */

/** Anything halftruth refuses: what was expected, what was got, what to do. */
export class HalftruthError extends Error {
  get name() {
    return this.constructor.name;
  }
}

/** Bytes or declarations from outside that SPEC.md does not allow; `stage` is the stage of SPEC 0. */
export class BadData extends HalftruthError {
  get stage() {
    return "data";
  }
}

/** Not in the canonical subset of msgpack (SPEC 1). */
export class CodecError extends BadData {
  get stage() {
    return "codec";
  }
}

/** A public key that must not be used (SPEC 2). */
export class KeyRefused extends BadData {
  get stage() {
    return "key";
  }
}

/** A signature that does not verify (SPEC 2). */
export class SignatureRefused extends BadData {
  get stage() {
    return "signature";
  }
}

/** Canonical msgpack, but not an envelope (SPEC 3). */
export class EnvelopeError extends BadData {
  get stage() {
    return "envelope";
  }
}

/** A domain that cannot be asked about (SPEC 4). */
export class DomainError extends BadData {
  get stage() {
    return "domain";
  }
}

/** Numbers that are not a channel (SPEC 5). */
export class ChannelError extends BadData {
  get stage() {
    return "channel";
  }
}

/** A privacy notion without meaning (SPEC 6). */
export class NotionError extends BadData {
  get stage() {
    return "notion";
  }
}

/** The channel's integers do not keep the level that its notion declares (SPEC 6). */
export class Uncertified extends BadData {
  get stage() {
    return "certificate";
  }
}

/** Views without meaning (SPEC 7.3). */
export class ViewError extends BadData {
  get stage() {
    return "view";
  }
}

/** A campaign whose parts do not fit together, or that nobody trusted has signed (SPEC 7). */
export class CampaignError extends BadData {
  get stage() {
    return "campaign";
  }
}

/** A report or enrolment that is not one, or does not fit its campaign (SPEC 8). */
export class ReportError extends BadData {
  get stage() {
    return "report";
  }
}

/** The campaign is not open at this time. */
export class OutsideSchedule extends HalftruthError {}

/** The campaign has not opened yet; later the same request may be granted. */
export class NotOpen extends OutsideSchedule {}

/** The campaign's author closed it before its time. */
export class ClosedEarly extends OutsideSchedule {}

/** The value is not one the question allows. The text names the domain, never the value. */
export class NotInDomain extends HalftruthError {}

/** This browser lacks something that the device needs. */
export class Unsupported extends HalftruthError {}

// What only a device refuses: a decision of the person, of the campaign's terms, or of the browser underneath.

/** The caps leave no room. Names the cap and both numbers. */
export class BudgetRefused extends HalftruthError {}

/** The person has not agreed to this campaign. */
export class ConsentMissing extends HalftruthError {}

/** All answers of this period are given. */
export class QuotaReached extends HalftruthError {}

/** No campaign of this id was joined. */
export class UnknownCampaign extends HalftruthError {}

/** Too much waits to leave. Nothing was drawn or charged, and nothing that waits was dropped. */
export class OutboxFull extends HalftruthError {}

/** An address that nothing is sent to. */
export class AddressRefused extends HalftruthError {}

/** What the browser keeps cannot be read or written: full, cleared, or in use by a later version. */
export class StoreError extends HalftruthError {}

/** @typedef {new (message: string) => Error} Refusal a class of errors, of the stage that asks */
