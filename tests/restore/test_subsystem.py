from resumed.restore.subsystem import Here
from resumed.restore.wording import short_path


def test_the_home_folder_has_two_names_where_it_is_a_link() -> None:
    here = Here(root="/mnt/kim/shop", home="/home/kim", agent="codex", real_home="/mnt/kim")
    assert [short_path(path, *here.homes) for path in ("/home/kim/a", "/mnt/kim/a", "/a")] == [
        "~/a",
        "~/a",
        "/a",
    ]
    plain = Here(root="/home/kim/shop", home="/home/kim", agent="codex")
    assert short_path("/home/kim/a", *plain.homes) == "~/a"
