"""The key stores for secret and checkpoint: files, a keyring and an Android Keystore, the last two in memory."""

from __future__ import annotations

import os
import secrets
import shutil
import sys
import types

import keyring
import keyring.backend
import keyring.errors
import pytest
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from edge_sdk import BudgetPolicy, Device
from edge_sdk.__main__ import main
from edge_sdk.errors import StoreError, StoreRestored
from edge_sdk.rollback.android_store import AndroidKeyStore
from edge_sdk.rollback.checkpoint import Checkpoint
from edge_sdk.rollback.checkpointing import stored_checkpoint
from edge_sdk.rollback.file_store import FileKeyStore
from edge_sdk.rollback.key_store import CHECKPOINT_FILE, SECRET_FILE, WRAPPED_FILE, KeyStore
from edge_sdk.rollback.keyring_store import KeyringKeyStore
from edge_sdk.rollback.known_key_stores import default_key_store
from edge_sdk.store.sqlite import DATABASE_FILE
from tests.altered import flipped
from tests.edge_sdk.conftest import AUTHOR, LABELS, OPENS, WEEK, agreed, campaign
from tests.edge_sdk.test_restored import files, put_back


class Ring(keyring.backend.KeyringBackend):
    """A keyring in memory."""

    priority = 5

    def __init__(self) -> None:
        super().__init__()
        self.entries: dict[tuple[str, str], str] = {}
        self.locked = False

    def get_password(self, service: str, username: str) -> str | None:
        if self.locked:
            raise keyring.errors.KeyringLocked("no")
        return self.entries.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        if self.locked:
            raise keyring.errors.KeyringLocked("no")
        self.entries[service, username] = password


@pytest.fixture
def ring():
    """Install and return the keyring of a test."""
    before, made = keyring.get_keyring(), Ring()
    keyring.set_keyring(made)
    yield made
    keyring.set_keyring(before)


class Keystore(types.ModuleType):
    """A replacement for pyjnius with those parts of a phone's Keystore and Cipher that the key store uses.

    ``keys`` has the keys of one phone; the objects refuse the calls that Java's objects would refuse.
    """

    # pyjnius gives the class this name.
    class JavaException(Exception):
        """An exception from Java."""

        classname = "java.security.ProviderException"

    def __init__(self) -> None:
        super().__init__("jnius")
        self.keys: dict[str, bytes] = {}
        self.refuses = False
        self.dies_at: int | None = None

    def step(self) -> None:
        """Count a call into the Keystore; the process may die here."""
        if self.dies_at is not None:
            self.dies_at -= 1
            if self.dies_at < 0:
                raise KeyboardInterrupt

    def cast(self, name: str, thing: object) -> object:
        assert name in ("java.security.Key", "java.security.spec.AlgorithmParameterSpec")
        return name, thing

    def autoclass(self, name: str) -> object:
        return {
            "java.security.KeyStore": self._keystore,
            "javax.crypto.KeyGenerator": self._generator,
            "javax.crypto.Cipher": self._cipher,
            "javax.crypto.spec.GCMParameterSpec": lambda bits, vector: (bits, vector),
            "android.security.keystore.KeyGenParameterSpec$Builder": self._builder,
        }[name]

    @property
    def _keystore(self) -> object:
        keys, step = self.keys, self.step

        class JavaKeyStore:
            loaded = False

            @classmethod
            def getInstance(cls, provider: str) -> JavaKeyStore:
                assert provider == "AndroidKeyStore"
                return cls()

            def load(self, parameter: None) -> None:
                self.loaded = True

            def containsAlias(self, alias: str) -> bool:
                assert self.loaded
                return alias in keys

            def getKey(self, alias: str, password: None) -> bytes | None:
                assert self.loaded
                return keys.get(alias)

            def deleteEntry(self, alias: str) -> None:
                step()
                del keys[alias]

        return JavaKeyStore

    def _builder(self, alias: str, purposes: int) -> object:
        assert purposes == 3
        asked = {"alias": alias}
        names = ("setBlockModes", "setEncryptionPaddings", "setKeySize")
        built = types.SimpleNamespace(**{name: lambda value, name=name: asked.update({name: value}) for name in names})
        built.build = lambda: asked
        return built

    @property
    def _generator(self) -> object:
        phone = self

        class Generator:
            @classmethod
            def getInstance(cls, algorithm: str, provider: str) -> Generator:
                assert (algorithm, provider) == ("AES", "AndroidKeyStore")
                return cls()

            def init(self, asked: tuple[str, dict[str, object]]) -> None:
                name, self.spec = asked
                assert name.endswith("AlgorithmParameterSpec")
                assert (self.spec["setBlockModes"], self.spec["setEncryptionPaddings"]) == ("GCM", "NoPadding")

            def generateKey(self) -> None:
                phone.step()
                if phone.refuses:
                    raise phone.JavaException
                phone.keys[self.spec["alias"]] = secrets.token_bytes(self.spec["setKeySize"] // 8)

        return Generator

    @property
    def _cipher(self) -> object:
        phone = self

        class Cipher:
            @classmethod
            def getInstance(cls, transformation: str) -> Cipher:
                assert transformation == "AES/GCM/NoPadding"
                return cls()

            def init(self, mode: int, key: tuple[str, bytes], parameters: tuple[str, tuple] | None = None) -> None:
                self.mode, self.key = mode, key[1]
                assert (parameters is None) == (mode == 1)
                self.vector = secrets.token_bytes(12) if parameters is None else parameters[1][1]

            def getIV(self) -> list[int]:
                return signed(self.vector)

            def doFinal(self, data: bytes) -> list[int]:
                aead = AESGCM(self.key)
                try:
                    return signed((aead.encrypt if self.mode == 1 else aead.decrypt)(self.vector, data, None))
                except InvalidTag:
                    raise phone.JavaException from None

        return Cipher


def signed(data: bytes) -> list[int]:
    """Return bytes as the signed numbers that Java returns."""
    return [byte - 256 if byte > 127 else byte for byte in data]


@pytest.fixture
def phone(monkeypatch):
    """Make this process look like an app on a phone; return the phone's Keystore."""
    made = Keystore()
    monkeypatch.setitem(sys.modules, "jnius", made)
    monkeypatch.setenv("ANDROID_ARGUMENT", "/data/app")
    return made


def use(place, clock, period: int = 0, **options) -> float:
    """Open the store, join, agree and answer once, as an app does at each start; return the spent amount."""
    clock.now = OPENS + period * WEEK
    with Device.open(place, [AUTHOR.public], BudgetPolicy(lifetime=100), clock=clock, **options) as device:
        campaign_id = agreed(device, campaign())
        device.answer(campaign_id, LABELS[period])
        return device.budget.spent


def adopt(place, clock) -> None:
    """Adopt the store, in which the reserved amount is spent, and open it again."""
    with Device.adopt(place, clock=clock) as device:
        assert device.budget.spent == 6
    Device.open(place).close()


# Every key store

KEY_STORES = {
    "file": FileKeyStore,
    "file and another": lambda place: FileKeyStore(place, place.parent / "elsewhere" / "checkpoint"),
    "keyring": lambda place: KeyringKeyStore(str(place)),
    "android": AndroidKeyStore,
}
each_key_store = pytest.mark.parametrize("make", KEY_STORES.values(), ids=KEY_STORES)


@each_key_store
def test_a_key_store_returns_the_written_secret_and_checkpoint(make, place, ring, phone) -> None:
    """A key store returns a secret and a checkpoint as they were written; it refuses an older checkpoint, and one of
    another store."""
    place.mkdir(parents=True)
    key_store: KeyStore = make(place)
    assert key_store.secret() is None
    assert set(key_store.checkpoints().values()) == {None}
    key_store.keep_secret(bytes(range(32)))
    checkpoints = [Checkpoint(bytes(32), sequence, bytes(32), 9, sequence) for sequence in range(1, 6)]
    key_store.keep_checkpoint(checkpoints[0], erase_earlier=True)
    for checkpoint in checkpoints[1:]:
        key_store.keep_checkpoint(checkpoint)
        assert set(make(place).checkpoints().values()) == {checkpoint}
        with pytest.raises(StoreRestored, match="older than its checkpoint"):
            key_store.keep_checkpoint(checkpoints[0])
        with pytest.raises(StoreRestored, match="another store"):
            key_store.keep_checkpoint(Checkpoint(bytes(31) + b"1", 99, bytes(32), 0, 0))
        assert set(key_store.checkpoints().values()) == {checkpoint}
    assert make(place).secret() == bytes(range(32))
    assert str(place) in key_store.describe()


@each_key_store
def test_a_store_remembers_its_key_store(make, place, clock, ring, phone) -> None:
    """A key store needs to be named only once; doctor shows its name."""
    assert use(place, clock, key_store=make(place)) == 1
    assert use(place, clock, 1) == 2
    assert use(place, clock, 2, key_store=make(place)) == 3
    with Device.open(place) as device:
        found = device.doctor()
    assert found["key store"] == make(place).name
    assert found["device secret"] == make(place).describe()
    assert (place / SECRET_FILE).exists() == (found["key store"] == "file")


@each_key_store
def test_an_older_database_is_refused_by_every_key_store(make, place, clock, ring, phone) -> None:
    """A database that is restored without its checkpoint is refused; after adoption it has spent the amount that the
    checkpoint reserved."""
    key_store = make(place)
    Device.open(place, key_store=key_store).close()
    held = (place / DATABASE_FILE).read_bytes()
    use(place, clock)
    (place / DATABASE_FILE).write_bytes(held)
    with pytest.raises(StoreRestored, match="older than its checkpoint"):
        Device.open(place)
    with Device.adopt(place, clock=clock) as device:
        assert device.budget.spent == 6
        assert device.doctor()["key store"] == key_store.name


@each_key_store
def test_forgetting_works_with_every_key_store(make, place, clock, ring, phone) -> None:
    """After forgetting, the checkpoint equals the one of the remaining rows."""
    use(place, clock, key_store=make(place))
    with Device.open(place, clock=clock) as device:
        device.forget()
        assert set(make(place).checkpoints().values()) == {stored_checkpoint(device._store)}


def test_a_key_store_of_another_kind_is_refused(place, clock, ring, phone) -> None:
    """A secret is never moved to another key store: naming another one later raises an error that names the store's
    own."""
    use(place, clock, key_store=FileKeyStore(place))
    for other in (KeyringKeyStore(str(place)), AndroidKeyStore(place)):
        with pytest.raises(StoreError, match="created with the key store 'file'"):
            use(place, clock, key_store=other)


def test_a_key_store_of_an_app_must_be_passed_at_each_opening(place, clock) -> None:
    """A key store from outside this package must be passed at each opening; without it, the error says that it cannot
    be found by name."""

    class AppKeyStore(FileKeyStore):
        name = "own"

    assert use(place, clock, key_store=AppKeyStore(place)) == 1
    assert use(place, clock, 1, key_store=AppKeyStore(place)) == 2
    with pytest.raises(StoreError, match="pass that key store when you open the store"):
        use(place, clock, 2)


def test_a_new_store_uses_the_keystore_on_android_and_files_elsewhere(place, ring, phone, monkeypatch) -> None:
    """A new store uses the Keystore on Android and files elsewhere, even if a keyring exists."""
    place.mkdir(parents=True)
    assert default_key_store(place).name == "android"
    (place / SECRET_FILE).write_bytes(bytes(32))
    assert default_key_store(place).name == "file"
    (place / SECRET_FILE).unlink()
    monkeypatch.delenv("ANDROID_ARGUMENT")
    assert default_key_store(place).name == "file"


# The keyring


def test_the_folder_does_not_contain_the_secret(place, ring) -> None:
    """With a keyring, no file of the folder contains the secret."""
    with Device.open(place, key_store=KeyringKeyStore("unit")) as device:
        secret = device._store.secret
        assert not [path for path in place.iterdir() if secret in path.read_bytes()]
    assert sorted(ring.entries) == [("halftruth", "unit"), ("halftruth", "unit.checkpoint")]


def test_a_folder_restored_byte_by_byte_is_refused_by_the_keyring(place, clock, ring) -> None:
    """A restore of the folder does not change the keyring, so the keyring has a newer checkpoint than the folder."""
    use(place, clock, key_store=KeyringKeyStore("unit"))
    held = files(place)
    use(place, clock, 1)
    put_back(place, held)
    with pytest.raises(StoreRestored, match="older than its checkpoint"):
        Device.open(place)


def test_a_folder_without_its_keyring_entry_is_refused(place, clock, ring) -> None:
    """A folder is refused under a login without its keyring entry; after adoption its reserved amount is spent, and it
    opens again."""
    use(place, clock, key_store=KeyringKeyStore("unit"))
    ring.entries.clear()
    with pytest.raises(StoreRestored, match="missing"):
        Device.open(place)
    adopt(place, clock)


@pytest.mark.parametrize("name", ["keyring.backends.fail", "keyring.backends.null"])
def test_a_keyring_without_protection_is_refused(place, name) -> None:
    """Without a keyring that protects a secret, opening a store with a keyring is refused."""
    before = keyring.get_keyring()
    try:
        keyring.set_keyring(__import__(name, fromlist=["Keyring"]).Keyring())
        with pytest.raises(StoreError, match="no keyring that protects a secret"):
            Device.open(place, key_store=KeyringKeyStore("unit"))
    finally:
        keyring.set_keyring(before)


def test_a_plain_text_keyring_is_refused_alone_and_as_the_first_of_a_chain(place, ring) -> None:
    """A keyring with a priority below the keyring package's recommendation is refused, alone and in a chain."""
    ring.priority = 0.5
    with pytest.raises(StoreError, match="no keyring"):
        Device.open(place, key_store=KeyringKeyStore("unit"))
    ring.priority, ring.backends = 10, [types.SimpleNamespace(priority=0.5, name="plain text")]
    with pytest.raises(StoreError, match="offers plain text"):
        Device.open(place, key_store=KeyringKeyStore("unit"))


def test_a_locked_keyring_is_reported_as_locked(place, clock, ring) -> None:
    """A locked keyring is reported as locked and not as a restored store; an answer that is given while it is locked is
    stored, and doctor says that the checkpoint is behind."""
    use(place, clock, key_store=KeyringKeyStore("unit"))
    with Device.open(place, clock=clock) as device:
        clock.now += WEEK
        ring.locked = True
        assert device.answer(device.campaigns[0], LABELS[1]).cost == 1
        ring.locked = False
        assert "behind" in device.doctor()["checkpoint"]
    ring.locked = True
    with pytest.raises(StoreError, match="unlock it") as refused:
        Device.open(place)
    assert not isinstance(refused.value, StoreRestored)


def test_the_error_without_the_keyring_package_names_it(place, monkeypatch) -> None:
    """Without the optional keyring package, the error names the command that installs it."""
    monkeypatch.setitem(sys.modules, "keyring", None)
    with pytest.raises(StoreError, match="pip install keyring"):
        Device.open(place, key_store=KeyringKeyStore("unit"))


# The Keystore


def test_the_secret_is_wrapped(place, phone) -> None:
    """No file contains the secret in plain form, and the key that decrypts it is the only key on the phone."""
    with Device.open(place) as device:
        secret = device._store.secret
        assert not [path for path in place.iterdir() if secret in path.read_bytes()]
    assert len(phone.keys) == 1
    assert (place / WRAPPED_FILE).stat().st_mode & 0o777 == 0o600


def test_the_wrapping_key_is_replaced_in_each_opening_that_charges(place, clock, phone) -> None:
    """The wrapping key is replaced exactly once in each opening of the store that charges something, and in no
    other."""
    use(place, clock)
    first = set(phone.keys)
    Device.open(place).close()
    assert set(phone.keys) == first
    seen = []
    with Device.open(place, clock=clock) as device:
        for period in (1, 2):
            clock.now = OPENS + period * WEEK
            device.answer(device.campaigns[0], LABELS[period])
            seen.append(set(phone.keys))
    assert len(seen[0]) == 1
    assert seen[0] == seen[1] != first


def test_a_backup_on_the_same_phone_is_refused(place, clock, phone, monkeypatch) -> None:
    """If a whole folder is restored byte by byte, with its checkpoint, no key can decrypt its secret any more; after
    adoption its reserved amount is spent."""
    monkeypatch.setattr("edge_sdk.rollback.host_identity.STABLE", set())
    use(place, clock)
    held = files(place)
    use(place, clock, 1)
    put_back(place, held)
    with pytest.raises(StoreRestored, match="not in this phone's Keystore"):
        Device.open(place)
    adopt(place, clock)


def test_a_backup_on_a_new_phone_is_refused(place, clock, phone, tmp_path, monkeypatch) -> None:
    """A restored app is refused if the Keystore has no key or another key; after adoption its reserved amount is
    spent."""
    monkeypatch.setattr("edge_sdk.rollback.host_identity.STABLE", set())
    use(place, clock)
    held = shutil.copytree(place, tmp_path / "backup")
    for keys in ({}, {alias: os.urandom(32) for alias in phone.keys}):
        shutil.rmtree(place)
        shutil.copytree(held, place)
        phone.keys = keys
        with pytest.raises(StoreRestored, match="another phone"):
            Device.open(place)
        adopt(place, clock)


def test_a_damaged_wrapping_is_a_lost_secret(place, clock, phone) -> None:
    """If the wrapped secret is cut or changed, it counts as lost, and the store can be adopted."""
    use(place, clock)
    whole = (place / WRAPPED_FILE).read_bytes()
    for damaged in (b"", whole[:20], flipped(whole)):
        (place / WRAPPED_FILE).write_bytes(damaged)
        # Encrypted bytes from another phone cannot be distinguished from damaged ones.
        why = "it is damaged, or the folder" if len(damaged) == len(whole) else "it is damaged: adopt the folder"
        with pytest.raises(StoreRestored, match=f"cannot be opened, because .*{why}"):
            Device.open(place)
        adopt(place, clock)


def test_a_crash_while_the_key_is_replaced_loses_no_secret(place, phone, monkeypatch) -> None:
    """If the app dies while the wrapping key is replaced, the secret can still be decrypted; old keys that a crash left
    are deleted when the next key is made."""
    with Device.open(place) as device:
        secret = device._store.secret
    for turn in range(9):
        # The phone dies when it makes the key, when it deletes the old one, or between these.
        phone.dies_at = (0, 1, None)[turn % 3]
        with Device.open(place) as device, monkeypatch.context() as patch:
            if phone.dies_at is None:
                patch.setattr("edge_sdk.rollback.android_store.write_durably", interrupted)
            with pytest.raises(KeyboardInterrupt):
                device.lower_caps(BudgetPolicy(lifetime=90 - turn))
        phone.dies_at = None
        with Device.open(place) as device:
            assert device._store.secret == secret
    with Device.open(place) as device:
        device.lower_caps(BudgetPolicy(lifetime=50))
    assert len(phone.keys) == 1


def interrupted(*arguments: object) -> None:
    """End the process at this call."""
    raise KeyboardInterrupt


def test_a_keystore_that_refuses_keeps_the_old_key(place, clock, phone) -> None:
    """If no new key can be made, the answer stays valid, and doctor says why the checkpoint is behind."""
    use(place, clock)
    with Device.open(place, clock=clock) as device:
        clock.now += WEEK
        phone.refuses = True
        assert device.answer(device.campaigns[0], LABELS[1]).cost == 1
        assert "cannot make a key" in device.doctor()["checkpoint"]
    phone.refuses = False
    assert use(place, clock, 2) == 3


def test_the_android_key_store_is_refused_on_other_systems(place) -> None:
    with pytest.raises(StoreError, match="only on Android"):
        Device.open(place, key_store=AndroidKeyStore(place))


# The command line


def test_the_command_line_names_a_key_store_once(place, ring, capsys) -> None:
    """--key-store selects the key store of a new store; --checkpoint is only accepted for a file key store."""
    run = ["--store", str(place)]
    assert main([*run, "--key-store", "keyring", "doctor"]) == 0
    assert "key store: keyring" in capsys.readouterr().out
    assert main([*run, "doctor"]) == 0
    assert main([*run, "--key-store", "file", "ledger"]) == 1
    assert "created with the key store 'keyring" in capsys.readouterr().err
    assert main([*run, "--key-store", "keyring", "--checkpoint", "x", "ledger"]) == 2
    assert (place / CHECKPOINT_FILE).exists() is False
